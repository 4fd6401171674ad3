"""What the stages of memory are held to, judged by the compiled model `gates` from reports of tests that ran."""
