"""What requests are answered with: pages for people, JSON for programs, completions for clients of language models."""
