"""What users test their own loop kinds with: scenario files and what runs them."""
