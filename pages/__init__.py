"""The pages: they ask the engine and show what it says. No Cypher, no rules."""
