"""What is kept, and how: the database, the one guarded write, and the queries of each aggregate."""
