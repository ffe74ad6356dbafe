"""Looking inside a job: its state at any kept epoch, and epochs that are run again."""
