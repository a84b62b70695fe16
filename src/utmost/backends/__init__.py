"""Tables, wherever they are: `source` is what all of them can be asked, `opening` opens them.

DuckDB and PostgreSQL are asked in SQL, Spark by its own frames, all of them with the typed expressions of
`queries.expressions`, in which nothing can fail.
"""
