"""Integer programs of static routes: the formulations of chapter 3 (Taffet 2021), solved by HiGHS."""
