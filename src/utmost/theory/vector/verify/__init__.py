"""Why no private mechanism for several integers is much better: flows between errors, and single integers."""
