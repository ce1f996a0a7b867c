"""Integer programs of static routes: chapter 3's formulations, solved by HiGHS."""
