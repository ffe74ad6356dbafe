"""How long a row takes from when it is due to when a reader has it, and what that costs, beside Flink."""
