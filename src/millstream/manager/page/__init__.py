"""The page: made on the server, live where the browser has JavaScript, and nothing from any other host."""
