"""Tables 3.1 to 5.5 of Taffet 2021 measured anew, the published figure beside ours: `make papers-routes`."""
