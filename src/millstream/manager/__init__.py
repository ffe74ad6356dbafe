"""The job manager: takes jobs, starts their drivers, watches them, and shows how they are."""
