"""One definition per aggregate function."""
