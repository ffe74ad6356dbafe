"""The demo: likes stream in, matches stream out, and at its end a batch run says whether they are right."""
