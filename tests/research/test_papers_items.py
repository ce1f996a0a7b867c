"""docs/papers.md has a row for every item of the five papers, each row has a valid target, and the page matches the data."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import click
import matplotlib.pyplot as plt
import numpy as np
import pytest

from flitwatch.command_line import cli
from flitwatch_domain.diagnosis import CongestionMap
from flitwatch_domain.diagnosis.trees import DARK, THIN
from flitwatch_domain.generators import build_xgft
from flitwatch_research.papers import dictionary, fraction_plot, measured, pictures, trends
from flitwatch_research.papers.__main__ import main
from flitwatch_research.papers.items import STATES, Item, load_items
from flitwatch_research.papers.measured import RATIOS, combination_of
from flitwatch_research.papers.pictures import place_of
from flitwatch_research.papers.report import to_markdown
from flitwatch_research.papers_routes import formulations
from flitwatch_research.papers_routes.catalogue import ROWS
from flitwatch_research.papers_routes.loops import unlucky_seed
from flitwatch_research.papers_routes.seen import keep_seen, load_seen, use_of
from flitwatch_research.studies import published
from flitwatch_research.studies.registry import STUDIES
from flitwatch_research.studies.wang import PLACEMENTS, ROUTINGS
from flitwatch_simulation.loop.demand import BARRIER_BULLY, demand_of
from flitwatch_simulation.loop.machine import Carried

ROOT = Path(__file__).resolve().parents[2]
#: Captions and numbered statements, as the texts were extracted: their beginnings of line.
CAPTION = re.compile(
    r"^ *(Figure|Fig\.|Table|TABLE|Algorithm|Theorem) ?([0-9A]+(?:\.[0-9]+)?|[IV]+) ?[:.](?!\d)|^ *(TABLE) ([IV]+)$",
    re.M,
)
EQUATION = re.compile(r"\(((?:[1-5]\.){2}[0-9]+)\)")


@pytest.mark.parametrize("paper", published.PAPERS)
def test_every_caption_and_equation_of_a_paper_has_a_row(shared: Path, paper: str) -> None:
    text = (shared / "papers" / f"{published.PAPERS[paper]}.txt").read_text()
    kinds = {"fig.": "figure"}
    found = {
        f"{kinds.get(kind.lower(), kind.lower())} {number}"
        for kind, number in ((m[1] or m[3], m[2] or m[4]) for m in CAPTION.finditer(text))
    }
    found |= {f"equation {number}" for number in EQUATION.findall(text)}
    assert len(found) > 5
    assert not found - {one.item for one in load_items() if one.paper == paper}


def test_every_place_with_published_figures_has_a_row() -> None:
    known = {(one.paper, one.item) for one in load_items()}
    places = {(one.paper, one.place) for one in published.load_figures()}
    assert places - known <= {("bhatele2020", "section V-B"), ("taffet2021", "section 2.5.2")}


def test_an_item_has_one_row_and_one_that_is_not_here_a_reason() -> None:
    every = load_items()
    assert max(Counter((one.paper, one.item) for one in every).values()) == 1
    for one in every:
        assert one.state in STATES and one.what
        assert bool(one.reason) == (one.state != "yes"), one
        assert one.state == "not" or (one.where and one.command), one
        assert not one.where or (ROOT / one.where).exists(), one


def test_numbers_that_are_as_published_are_within_a_quarter_and_in_order() -> None:
    """What `yes` means alongside printed numbers, for those that `make papers` measures: times of another scale as ratios to the first."""
    kept = json.loads((ROOT / "docs/papers.json").read_text())
    held = 0
    for one in load_items():
        if one.kind != "numbers" or one.state != "yes":
            continue
        ours = {
            (row["row"], row["column"]): row["ours"]
            for row in kept
            if (row["paper"], row["place"]) == (one.paper, one.item)
        }
        printed = [
            x
            for x in published.load_figures()
            if (x.paper, x.place) == (one.paper, one.item) and (x.row, x.column) in ours
        ]
        if not printed:
            continue
        theirs, mine = [x.value for x in printed], [ours[x.row, x.column] for x in printed]
        if (one.paper, one.item) in RATIOS:
            theirs, mine = [x / theirs[0] for x in theirs], [x / mine[0] for x in mine]
        assert all(abs(b / a - 1) <= 0.25 for a, b in zip(theirs, mine, strict=True)), one.item
        falling = [(a, b) for (x, a), (y, b) in itertools.permutations(zip(theirs, mine, strict=True), 2) if x > y]
        assert all(a > b / 1.01 for a, b in falling), one.item
        held += 1
    assert held >= 3


def test_the_stencils_times_are_means_over_seeds_and_their_intervals_are_ratios(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run_study(_: str, seed: int, **__: Any) -> list[dict[str, Any]]:
        return [
            {"routing": routing, "messages": "large", "time_ms": ms}
            for routing, ms in (("ftree", 2.0), ("random", 3.0 + seed))
        ]

    monkeypatch.setattr(measured, "_run_study", run_study)
    figures = measured._measure_stencil()
    assert figures.pop(("Ftree", "Large Messages")) == 2.0
    ((cell, random),) = figures.items()
    assert cell == ("Random", "Large Messages") and isinstance(random, dict) and random["mean"] == 5.0
    place = ("taffet2021", "table 5.2")
    page = to_markdown({place: {("Ftree", "Large Messages"): 2.0, cell: 5.0}}, {}, {(*place, *cell): (4.0, 6.0)})
    assert "over the first row: Ftree: 1; 1<br>Random: 2.5; 2.5 (2 to 3)" in page


#: Figures of matrices: the row of table 4.1 with their pattern, and the bases shown.
MATRICES = {
    "figure 4.2": ("BoxLib CNS 1024", "s"),
    "figure 4.3": ("PARTISN 168", "cd"),
    "figure 4.5": ("BoxLib MG C 1024", "cs"),
    "figure 4.6": ("Nekbone 1024", "i"),
    "figure 4.7": ("Nekbone 1024", "cd", "cs"),
    **{f"figure A.{number}": ("BoxLib MG C 1024", "i") for number in (1, 2)},
    **{f"figure A.{number}": ("AMG 1728", "i") for number in (3, 4)},
    **{f"figure A.{number}": ("BoxLib CNS 1024", "i") for number in (5, 6, 7)},
    "figure A.8": ("PARTISN 168", "i"),
    **{f"figure A.{number}": ("MultiGrid C 1000", "i") for number in (9, 10, 11)},
    **{f"figure A.{number}": ("Nekbone 1024", "i") for number in (12, 13)},
    **{f"figure A.{number}": ("LULESH 512", "i") for number in (14, 15)},
}


def test_matrices_that_are_as_published_have_as_many_nonzeros() -> None:
    """What `yes` means for a picture of a matrix: within 25 % of the published non-zeros per node, in the bases shown."""
    kept = json.loads((ROOT / "docs/papers-routes.json").read_text())["rows"]
    printed = {row.name: row.published for row in ROWS if row.table == "4.1"}
    drawn = [one for one in load_items() if one.kind == "matrix"]
    assert {one.item for one in drawn} == set(MATRICES)
    for one in drawn:
        name, *bases = MATRICES[one.item]
        ratios = [kept[f"4.1 {name}"]["ours"][basis] / printed[name][basis] for basis in bases]
        assert (one.state == "yes") == all(abs(ratio - 1) <= 0.25 for ratio in ratios), (one.item, ratios)


def test_the_barriers_table_is_within_a_quarter() -> None:
    """Taffet 2021, table 5.4: one of its times, the barrier alone, is fitted; the others follow."""
    kept = json.loads((ROOT / "docs/papers-routes.json").read_text())["rows"]
    (row,) = [row for row in ROWS if row.table == "5.4"]
    ours = kept[row.key]["ours"]
    assert len(row.published) == 4
    assert all(abs(ours[name] / value - 1) <= 0.25 for name, value in row.published.items()), ours
    order = sorted(row.published, key=row.published.__getitem__)
    assert [ours[name] for name in order] == pytest.approx(sorted(ours.values()), rel=1e-3)


def test_contiguous_nodes_with_minimal_routes_vary_least_alongside_bursts() -> None:
    """Wang 2018, figures 8 to 10, as measured at the published loads."""
    kept = json.loads((ROOT / "docs/papers.json").read_text())
    for figure in ("figure 8", "figure 9", "figure 10"):
        at = {one["column"]: one["ours"] for one in kept if (one["paper"], one["place"]) == ("wang2018", figure)}
        bursty = {(p, r): at[combination_of(p, r, "bursty")] for p in PLACEMENTS for r in ROUTINGS}
        assert min(bursty, key=bursty.__getitem__) == ("contiguous", "minimal") and max(bursty.values()) > 130
        assert all(bursty[placement, "adaptive"] > bursty[placement, "minimal"] for placement in PLACEMENTS)
        if figure != "figure 8":  # crystal router and fill boundary: no obvious variation alongside uniform traffic
            assert all(at[combination_of(p, r, "uniform")] < 125 for p in PLACEMENTS for r in ROUTINGS)
    (crystal_router,) = [
        one["ours"]
        for one in kept
        if (one["place"], one["column"]) == ("figure 9", "bursty background, longer by, at most")
    ]
    assert 60 < crystal_router < 120


def test_the_faster_mode_depends_on_the_number_of_nodes_and_an_fft_takes_it() -> None:
    """De Sensi 2019, figure 10: the FFT is faster with high bias on 256 nodes and with default routing on 64, and comparable to the faster one with algorithm 1; MILC and halo3d differ."""
    at = kept_figures("desensi2019", "figure 10")
    many, few = (
        {mode: at[f"fft, {nodes} nodes", mode] for mode in ("high-bias", "application-aware")} for nodes in (256, 64)
    )
    assert many["high-bias"] < 0.9 < 1.5 < few["high-bias"]
    assert many["application-aware"] < 1.15 * many["high-bias"] and few["application-aware"] < 1.15
    assert at["milc, 64 nodes", "high-bias"] < 1 < at["halo3d, 64 nodes", "high-bias"]


def test_every_torus_has_the_printed_size_unless_its_name_contradicts_it() -> None:
    """Hoefler 2009, table 2: a k-ary n-cube has k to the power of n endpoints (section 5). Two printed counts are not, and the row names them."""
    printed = published.published_rows("hoefler2009", "table 2")
    ours = kept_figures("hoefler2009", "table 2")
    assert len(ours) == len(printed) == 30
    for name in printed:
        k, n = map(int, re.findall(r"(\d+)-", name))
        assert ours[name, "endpoints"] == k**n
    misprints = {name: row["endpoints"] for name, row in printed.items() if row["endpoints"] != ours[name, "endpoints"]}
    assert misprints == {"9-ary 3-cube": 728, "17-ary 3-cube": 4912}
    row = row_of("hoefler2009", "table 2")
    assert row.state == "yes" and "728 for 9 x 9 x 9 and 4912 for 17 x 17 x 17" in row.what


def kept_figures(paper: str, place: str) -> dict[tuple[str, str], float]:
    kept = json.loads((ROOT / "docs/papers.json").read_text())
    return {(one["row"], one["column"]): one["ours"] for one in kept if (one["paper"], one["place"]) == (paper, place)}


@pytest.mark.parametrize("figure", ["figure 8", "figure 10"])
def test_forecasts_improve_with_context_and_features(figure: str) -> None:
    """Bhatele 2020: a longer context lowers the error and 512 nodes have larger ones; placement changes little for AMG; io and sys lower it one after the other for MILC. The row is `yes` only if a longer future lowers it too."""
    at, cases = kept_figures("bhatele2020", figure), {}
    for (row, features), error in at.items():
        nodes, m, k = (int(number) for number in re.findall(r"\d+", row))
        cases[nodes, m, k, features] = error
    nodes, several_m, several_k, several = (sorted({case[at] for case in cases}) for at in range(4))
    assert nodes == [128, 512] and len(cases) == 8 * len(several)
    every = list(itertools.product(several_m, several_k, several))
    assert all(cases[512, *case] > cases[128, *case] for case in every)
    longer = {
        name: [change(*case) for case in itertools.product(nodes, (0, 1), several)]
        for name, change in {
            "context": lambda n, i, one: (
                cases[n, several_m[1], several_k[i], one] / cases[n, several_m[0], several_k[i], one]
            ),
            "future": lambda n, i, one: (
                cases[n, several_m[i], several_k[1], one] / cases[n, several_m[i], several_k[0], one]
            ),
        }.items()
    }
    assert max(longer["context"]) < 1 and max(longer["future"][: 2 * len(several)]) < 1
    assert (row_of("bhatele2020", figure).state == "yes") == (max(longer["future"]) < 1)
    means = {
        (n, one): np.mean([error for case, error in cases.items() if (case[0], case[3]) == (n, one)])
        for n in nodes
        for one in several
    }
    for n in nodes:
        first, *others = (means[n, one] for one in several)
        if figure == "figure 8":
            assert others == pytest.approx([first], rel=0.1)
        else:
            assert first > others[0] > others[1]


def test_users_in_several_lists_are_those_with_a_planted_effect() -> None:
    """Bhatele 2020, table III: some users appear in several lists, all with slower runs, and their jobs load the network; every set has 175 runs or more."""
    at = kept_figures("bhatele2020", "table III")
    often = at["users in two lists or more", "all"]
    assert often >= 3 and at["sets", "with a list"] == 6 and at["sets", "runs, at least"] >= 175
    assert at["users in two lists or more", "with slower runs"] == often
    assert at["users in two lists or more", "with a planted effect"] == often


def row_of(paper: str, item: str) -> Item:
    (row,) = [one for one in load_items() if (one.paper, one.item) == (paper, item)]
    return row


def test_the_perturbation_is_significant_where_notches_do_not_overlap() -> None:
    """Hoefler 2009, figure 3, 32 nodes: the text's notches overlap at no ratio. The row is `yes` only if ours do not, and else names those that do."""
    at = kept_figures("hoefler2009", "figure 3")
    ratios = sorted({ratio for ratio, _ in at}, key=float)
    alike = [ratio for ratio in ratios if at[ratio, "quiet, notch high"] >= at[ratio, "perturbed, notch low"]]
    row = row_of("hoefler2009", "figure 3")
    assert len(ratios) == 7 and (row.state == "yes") == (not alike)
    assert re.findall(r"0\.\d+", row.reason) == alike
    # The fit over ratios rises (figure 4).
    slowdowns = [at[ratio, "slowdown"] for ratio in ratios]
    assert min(slowdowns) > 1 and np.polyfit([float(ratio) for ratio in ratios], slowdowns, 1)[0] > 0


def test_slowdown_grows_with_the_allocation_as_the_text_says() -> None:
    """Hoefler 2009, figure 5, as measured with more splits than tests/research/test_network_noise.py."""
    at = [value for (_, column), value in kept_figures("hoefler2009", "figure 5").items() if column == "slowdown"]
    assert len(at) == 5 and at == sorted(at) and at[-1] > 2 * at[0]


def commands(one: Item) -> list[list[str]]:
    return [shlex.split(part)[1:] for part in one.command.split("; ") if part.startswith("flitwatch ")]


def test_every_command_exists_with_its_options() -> None:
    called = [(one, words) for one in load_items() for words in commands(one)]
    assert len(called) > 60
    for one, words in called:
        at: click.Command = cli
        context = click.Context(cli)
        while words and isinstance(at, click.Group):
            found = at.get_command(context, words[0])
            assert found is not None, one
            at, words = found, words[1:]
        known = {name for parameter in at.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, one
        if at.name == "study":
            assert words[0] in STUDIES, one
    tests = [one.command for one in load_items() if one.command.startswith("tests/")]
    assert tests and all((ROOT / test).is_file() for test in tests)


def test_the_page_is_what_the_data_says(tmp_path: Path) -> None:
    for name in ("papers.json", "papers-routes.json"):
        (tmp_path / name).write_bytes((ROOT / "docs" / name).read_bytes())
    assert main(["--written", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "papers.md").read_text()
    assert page == (ROOT / "docs" / "papers.md").read_text(), "run: make papers"
    assert "ours are equal" in page and "tiled, SVAFP" in page


def test_a_stopped_run_goes_on_with_the_places_that_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = ("hoefler2009", "table 1"), ("hoefler2009", "figure 10")
    measured: list[str] = []
    broken = True

    def small() -> dict[tuple[str, str], float]:
        measured.append("small")
        return {("XGFT(2,12,6)", "endpoints"): 144.0}

    def long() -> dict[tuple[str, str], float]:
        measured.append("long")
        if broken:
            raise KeyboardInterrupt
        return {("perturbed", "longest path"): 5.0}

    places = {first: small, second: long}
    monkeypatch.setattr("flitwatch_research.papers.__main__.MEASURED", places)
    chosen = ["--out", str(tmp_path), "--place", "table 1", "--place", "figure 10"]
    with pytest.raises(KeyboardInterrupt):
        main(chosen)
    broken = False
    assert main(chosen) == 0
    assert measured == ["small", "long", "long"]
    kept = json.loads((tmp_path / "papers.json").read_text())
    assert [(one["place"], one["ours"]) for one in kept] == [("table 1", 144.0), ("figure 10", 5.0)]
    assert main(chosen) == 0 and measured[3:] == ["small", "long"]
    said = capsys.readouterr().err
    assert "1 of 2 places to measure" in said and "about 0 s" in said
    assert not (tmp_path / "papers-measured.json").exists()


def test_every_picture_is_there_and_drawn_from_what_the_program_makes() -> None:
    drawn = [*pictures.PICTURES, *pictures.PLOTS, *pictures.CURVES, pictures.COURSES, pictures.SIGNALS]
    files = {place_of(pictures.PAPER, item) for item in drawn} | {place_of(*pictures.TRENDS)}
    known = {(one.paper, one.item) for one in load_items()}
    assert {(pictures.PAPER, item) for item in drawn} <= known
    there = list((ROOT / "docs" / "papers").iterdir())
    assert {f"papers/{file.name}" for file in there} == files and sum(file.stat().st_size for file in there) < 3e6
    page = (ROOT / "docs" / "papers.md").read_text()
    assert all(f"[picture]({file})" in page for file in files)


def test_a_panel_shows_every_entry_and_nothing_else() -> None:
    matrix = np.zeros((1100, 1100))
    matrix[[0, 700, 1099], [5, 701, 0]] = [1.0, -1e6, 10.0]
    shown = pictures.Panel(matrix).shown()
    assert np.argwhere(shown).tolist() == [[0, 1], [233, 233], [366, 0]]
    assert shown.max() == shown[233, 233] == 1 and shown[0, 1] == 0.25
    assert not pictures.Panel(np.zeros((4, 4))).shown().any()


def test_coefficients_are_drawn_where_they_stand() -> None:
    """Below the diagonal stands the sum of both directions, above it the difference (the dissertation's section 4.3)."""
    matrix = np.array([[0, 1, 0, 0], [4, 0, 2, 0], [0, 2, 0, 3], [0, 0, 3, 0]], float)
    expected = np.array([[0, -3, 0, 0], [5, 0, 0, 0], [0, 4, 0, 0], [0, 0, 6, 0]], float)
    assert np.array_equal(pictures.in_basis("s", matrix), expected)
    assert np.array_equal(
        pictures.in_basis("cd", matrix)[1:, 1:], (matrix[1:, 1:] - matrix[:-1, :-1]) * (1 - np.eye(3))
    )


def count_for_most_power(*coefficients: np.ndarray) -> int:
    """Table 4.1's second count: coefficients of at least the size with which 90 % of the norm are kept."""
    size = np.sort(np.abs(np.concatenate([one.ravel() for one in coefficients])))[::-1]
    last = size[np.sqrt(np.cumsum(size**2)).searchsorted(0.9 * np.linalg.norm(size))]
    return int((size > last * (1 - 1e-9)).sum())


@pytest.mark.system("numeric")
def test_each_basis_of_a_dictionary_expresses_what_the_text_says() -> None:
    """Figure 4.7: long diagonals in CD; segments near the main diagonal, with their gaps, and the faint anti-diagonals in CS; few nonzeros in both.

    Figure 4.8: short diagonals in CD, dotted ones in S. Coefficients of the dictionary are fewer in figure 4.7, and in both smaller in sum and fewer for 90 % of the power, than of either basis alone.
    """
    for pattern, ranks, side, names in (
        ("nekbone-1024", 1024, 256, ("cd", "cs")),
        ("multigrid-1000", 1000, 250, ("cd", "s")),
    ):
        matrix = pictures.matrix_of(pattern, ranks)[:side, :side]
        parts = dictionary.split_matrix(matrix, *names)
        whole = matrix / matrix.max()
        assert np.allclose(parts[0].values + parts[1].values, whole, atol=1e-9)
        alone = [pictures.in_basis(name, whole) for name in names]
        sizes = [float(np.abs(one).sum()) for one in alone]
        assert 1.15 * sum(float(np.abs(part.coefficients).sum()) for part in parts) < min(sizes)
        significant = count_for_most_power(*(part.coefficients for part in parts))
        assert 1.3 * significant < min(count_for_most_power(one) for one in alone)
        shares = {
            distance: float(np.diagonal(parts[0].values, distance).sum() / np.diagonal(whole, distance).sum())
            for distance in range(1, side)
            if np.diagonal(whole, distance).any()
        }
        there = {distance: np.diagonal(whole, distance) > 0.1 for distance in shares}
        if names[1] == "cs":
            nonzeros = [dictionary.count_nonzeros(one) for one in alone]
            assert 2 * sum(part.nonzeros for part in parts) < min(nonzeros) < dictionary.count_nonzeros(whole)
            long = [distance for distance in shares if distance > 1 and there[distance].sum() > 0.5 * (side - distance)]
            assert len(long) > 5 and min(shares[distance] for distance in long) > 0.95
            assert shares[1] < 0.1 and 0 < (side - there[1].sum()) < 0.1 * side
            at = np.arange(side)
            for block in (32, 64, 128, 256):
                faint = whole[at, at ^ (block - 1)]
                lone = faint < 0.1
                assert (faint > 0).all() and lone.mean() > 0.8
                assert parts[1].values[at, at ^ (block - 1)][lone].sum() > 0.9 * faint[lone].sum()
        else:
            short = [distance for distance, at in there.items() if (at[3:] & at[2:-1] & at[1:-2] & at[:-3]).any()]
            assert short == [4, 28] and min(shares[distance] for distance in short) > 0.95
            dotted = [distance for distance, at in there.items() if at.sum() > 4 and not (at[1:] & at[:-1]).any()]
            assert dotted == [1, 7, 55] and max(shares[distance] for distance in dotted[1:]) < 0.1


def test_multigrid_and_nekbone_have_the_structure_behind_the_published_counts() -> None:
    """Table 4.1: all significant nonzeros of the finest level on the curve are as published; Nekbone is so irregular only by its crystal router."""
    kept = json.loads((ROOT / "docs/papers-routes.json").read_text())["rows"]
    printed = {row.name: row.published for row in ROWS if row.table == "4.1"}
    ours, theirs = kept["4.1 MultiGrid C 1000"]["ours"], printed["MultiGrid C 1000"]
    for basis in ("i", "s", "cd", "scd"):
        column = f"{basis}, at most 10 % error"
        assert ours[column] == pytest.approx(theirs[column], abs=0.006)
    ours, theirs = kept["4.1 Nekbone 1024"]["ours"], printed["Nekbone 1024"]
    for basis in ("i", "s", "cd", "scd", "cs", "scs"):
        assert ours[basis] == pytest.approx(theirs[basis], rel=0.12)
    stencil = pictures.matrix_of("nekbone-1024", 1024)
    stencil[stencil % 100 != 0] = 0
    assert dictionary.count_nonzeros(pictures.in_basis("cd", stencil / stencil.max())) < 0.5 * theirs["cd"] * 1024


def test_a_split_matrix_is_found_again() -> None:
    """A long diagonal and a repeated block, planted: each basis gets its own."""
    diagonal, blocks = np.zeros((32, 32)), np.zeros((32, 32))
    diagonal[np.arange(23), np.arange(23) + 9] = 1.0
    blocks[np.arange(0, 32, 4), np.arange(0, 32, 4) + 2] = 0.5
    in_cd, in_cs = dictionary.split_matrix(diagonal + blocks, "cd", "cs")
    assert np.allclose(in_cd.values, diagonal, atol=0.01) and np.allclose(in_cs.values, blocks, atol=0.01)
    assert in_cd.nonzeros <= 2 and in_cs.nonzeros <= 2


def test_kept_curves_fall_below_the_published_error_in_less_time() -> None:
    (gpu, end, cpu, _) = pictures.load_error_curves("lulesh")
    theirs = published.published_rows("taffet2021", "figure 4.12")
    for ours, row in ((gpu, "TFOCS with a GPU"), (cpu, "TFOCS on a CPU")):
        there = next(s for s, error in zip(ours.seconds, ours.error, strict=True) if error < theirs[row]["error"] / 100)
        assert there < 60 * theirs[row]["time"]
        assert ours.seconds == sorted(ours.seconds) and ours.error[-1] < ours.error[0] / 100
    assert end.error[-1] < theirs["CVX with Gurobi"]["error"] / 100
    (bisection, _) = pictures.load_error_curves("bisection")
    assert bisection.error[-1] < 1e-5


def test_both_formulations_progress_alike_and_basic_alone_is_earlier() -> None:
    """Figure 3.4: both programs find the same routes, and the first ones come earlier alone, since nothing competes for the core."""
    alone, together = pictures.load_gap_curves()
    assert (alone.label, together.label) == ("basic", "combined")
    assert together.error == alone.error and 0 < alone.error[-1] < alone.error[0]
    assert all(a < t for a, t in zip(alone.seconds[:-1], together.seconds[:-1], strict=True))
    for one in (alone, together):
        assert one.seconds == sorted(one.seconds) and one.error == sorted(one.error, reverse=True)


def test_the_curves_of_formulations_are_measured_and_kept(tmp_path: Path) -> None:
    kept = tmp_path / "kept" / "formulations.json"
    assert formulations.main(["--topology", "xgft:3;2,2,2;1,2,1", "--limit", "60", "--out", str(kept)]) == 0
    basic, combined = json.loads(kept.read_text())
    assert (basic["formulation"], combined["formulation"]) == ("basic", "combined")
    for one in (basic, combined):
        assert len(one["seconds"]) == len(one["gap"]) > 0 and one["gap"][-1] >= one["bound_gap"] - 1e-6
    assert combined["gap"][-1] == pytest.approx(basic["gap"][-1], abs=1e-5)  # both end at the optimum


def test_a_picture_of_a_reconstruction_shows_what_the_text_says_of_it() -> None:
    """One lane leaves stray traffic everywhere, five do not (figure 4.13); most of the barrier is where it was sent (figure 5.15)."""
    one, five, truth = pictures.PICTURES["figure 4.13"]()
    level = truth.values.max() / 100
    stray = [int(((panel.values > level) & (truth.values == 0)).sum()) for panel in (one, five)]
    assert stray[0] > 10 * stray[1]
    errors = [
        float(np.linalg.norm(panel.values - truth.values) / np.linalg.norm(truth.values)) for panel in (one, five)
    ]
    assert errors[0] > 0.5 and errors[1] < 0.05
    found, sent = pictures.PICTURES["figure 5.15"]()
    assert ((found.values > 0) & (sent.values > 0)).sum() > 0.95 * (sent.values > 0).sum()
    found, sent = pictures.PICTURES["figure 5.17"]()
    near = np.abs(np.subtract.outer(np.arange(1024), np.arange(1024))) <= 16
    wrong = [
        float(np.linalg.norm((found.values - sent.values)[part]) / np.linalg.norm(sent.values[part]))
        for part in (near, ~near)
    ]
    assert wrong[0] < wrong[1]  # near the diagonal it is more regular


@pytest.mark.system("numeric")
def test_mean_counters_follow_the_mean_time_as_the_caption_says() -> None:
    """Bhatele 2020, figure 7; a counter of another run's order would not."""
    time_s, counters = trends.compute_trends(trends.load_campaign())
    assert len(time_s) == 80 and set(trends.SHOWN) <= set(counters) and len(counters) == 13
    alike = {name: float(np.corrcoef(values, time_s)[0, 1]) for name, values in counters.items()}
    assert min(alike[name] for name in trends.SHOWN) > 0.9 and min(alike.values()) > 0.5
    mixed = np.random.default_rng(1).permutation(counters[trends.SHOWN[0]])
    assert abs(float(np.corrcoef(mixed, time_s)[0, 1])) < 0.5


@pytest.mark.system("numeric")
def test_the_south_phase_congests_one_row_and_svafp_ends_it() -> None:
    """Figure 2.7: the row before the last is heavily congested with BSPMA and still with SVAF, and no other is; the last gets nothing; SVAFP leaves no row apart."""
    grid = {panel.title: panel.values for panel in pictures.PICTURES["figure 2.7"]()}
    assert {one.shape for one in grid.values()} == {(16, 8)} and list(grid) == ["BSPMA", "SVAF", "SVAFP"]
    rows = {name: np.nan_to_num(values).mean(1) for name, values in grid.items()}
    assert all(row[15] == 0 for row in rows.values())
    for name in ("BSPMA", "SVAF"):
        assert rows[name][14] > 0.9 > 10 * np.delete(rows[name], 14).max()
    assert rows["SVAFP"][14] < 1.5 * np.delete(rows["SVAFP"], 14).max() < 0.25


def fractions(seen: CongestionMap) -> dict[str, float]:
    """Mean congested fraction of the links up between switches, down between switches, and to nodes; NaN if a kind carries nothing."""
    found = fraction_plot.compute_halves(seen)
    level, routers = np.asarray(seen.fabric.routers.level), len(seen.fabric.routers)
    known = np.isfinite(found.fraction)
    between = known & (found.src < routers) & (found.dst < routers)
    up = between & (level[found.dst % routers] > level[found.src % routers])
    kinds = {"up": up, "down": between & ~up, "to nodes": known & (found.dst >= routers)}
    return {kind: float(found.fraction[which].mean()) if which.any() else np.nan for kind, which in kinds.items()}


@pytest.mark.system("numeric")
def test_minighosts_plots_show_what_the_text_says_of_them() -> None:
    """Figures 2.4 to 2.6 and 2.9: the way up is the darker one, phases differ under a linear mapping, tiles end it, and SVAFP most of the rest."""
    (cyclic,) = pictures.PLOTS["figure 2.4"]()
    assert fractions(cyclic.seen)["up"] > 0.8 > 0.3 > fractions(cyclic.seen)["down"]
    linear, tiled = (
        {plot.title: fractions(plot.seen) for plot in pictures.PLOTS[figure]()}
        for figure in ("figure 2.5", "figure 2.6")
    )
    assert linear["front"]["up"] > 0.8 and all(np.isnan(linear[one]["up"]) for one in ("south", "west"))
    assert all(tiled[one]["up"] < 0.2 for one in tiled)
    # Of tiles, roots are at endpoints: links to nodes are darker than any between switches.
    assert tiled["south"]["to nodes"] > tiled["south"]["up"] + tiled["south"]["down"]
    bspma, _, svafp = (fractions(plot.seen) for plot in pictures.PLOTS["figure 2.9"]())
    assert all(svafp[kind] < bspma[kind] for kind in bspma)


def test_the_shuffles_plots_show_what_the_text_says_of_them() -> None:
    """Figures 5.2 and 5.3: under ftree all congestion is rooted inside the network; of the loop's routes only links from leaf switches to spines are left, all alike."""
    (ftree,), (loop,) = (pictures.PLOTS[figure]() for figure in ("figure 5.2", "figure 5.3"))
    level, routers = np.asarray(ftree.seen.fabric.routers.level), len(ftree.seen.fabric.routers)
    src, dst = np.asarray(ftree.seen.fabric.links.src), np.asarray(ftree.seen.fabric.links.dst)
    between = (src < routers) & (dst < routers)
    taper = between & (level[src % routers] == 0)
    for plot in (ftree, loop):
        assert np.nanmax(plot.seen.congested_fraction[dst >= routers]) == 0
    elsewhere = between & ~taper
    assert (
        np.nanmax(loop.seen.congested_fraction[elsewhere]) == 0 < np.nanmean(ftree.seen.congested_fraction[elsewhere])
    )
    assert np.nanmean(loop.seen.congested_fraction[taper]) > 0.5
    spread = [float(np.nanstd(plot.seen.congested_fraction[taper])) for plot in (ftree, loop)]
    assert spread[1] < 0.5 * spread[0]


def test_the_minus_y_phase_congests_several_up_links_of_each_leaf_switch() -> None:
    """Figure 5.5: heavy congestion, primarily on links from leaf switches to spines, although the routes are optimal for all phases together."""
    (plot,) = pictures.PLOTS["figure 5.5"]()
    seen = plot.seen
    level, routers = np.asarray(seen.fabric.routers.level), len(seen.fabric.routers)
    src, between = np.asarray(seen.fabric.links.src), seen.fabric.router_links()
    fraction = np.nan_to_num(seen.congested_fraction)
    up = between & (level[src % routers] == 0)
    dark = np.bincount(src[up & (fraction >= DARK)], minlength=routers)[level == 0]
    assert (dark >= 2).mean() > 0.9
    assert fraction[up].mean() > 2 * fraction[between & ~up].mean()


def test_adaptive_routing_congests_all_links_from_core_switches_into_the_first_pod() -> None:
    """Figure 5.8: links to the two crowded leaf switches are dark, milder in the second and third pods to those with sixteen bully nodes. Links from core switches into the first pod are severely congested, all alike, and the barrier takes longer than under ftree."""
    (plot,) = pictures.PLOTS["figure 5.8"]()
    seen, routers = plot.seen, plot.seen.fabric.routers
    src, dst = np.asarray(seen.fabric.links.src), np.asarray(seen.fabric.links.dst)
    level, pod = np.asarray(routers.level), np.asarray(routers.group)
    fraction, between = np.nan_to_num(seen.congested_fraction), seen.fabric.router_links()
    down = between & (level[src % len(routers)] == 1) & (level[dst % len(routers)] == 0)
    into = np.bincount(dst[down], fraction[down], len(routers)) / 16
    bully = demand_of(BARRIER_BULLY, seen.fabric, 3.2, 1, unlucky_seed(seen.fabric)).jobs[1]
    nodes = np.bincount(np.asarray(seen.fabric.endpoints.router)[bully.endpoints], minlength=len(routers))
    seventeen, sixteen = np.flatnonzero(nodes == 17), np.flatnonzero(nodes == 16)
    assert into[seventeen].min() > 0.95 > 0.8 > np.delete(into, seventeen).max() and len(seventeen) == len(sixteen) == 2
    assert all(into[leaf] == into[pod == pod[leaf]].max() for leaf in sixteen)
    core = between & (level[src % len(routers)] == 2)
    first, others = fraction[core & (pod[dst % len(routers)] == 0)], fraction[core & (pod[dst % len(routers)] != 0)]
    assert len(first) == 384 and first.min() >= DARK > others.max() and first.std() < 0.05 * first.mean()
    ours = kept_row("5.3")
    assert ours["adaptive"] > ours["ftree"]


def test_the_master_problem_alone_is_worse_than_partitioned_binary_and_better_than_ftree() -> None:
    """Figure 5.10: more links carry two flows than with Partitioned Binary's routes, which the combined formulation returned, and more are dark. The barrier is slower than with these, and faster than under ftree."""
    at = kept_figures("taffet2021", "figure 5.10")
    shared, dark, time = (
        {name: value for (name, column), value in at.items() if column == wanted}
        for wanted in ("links with two flows", "dark links", "time over the barrier alone")
    )
    assert shared["basic"] > shared["partitioned"] and dark["basic"] > dark["partitioned"]
    assert time["partitioned"] < time["basic"] < time["ftree"]


def kept_row(table: str) -> dict[str, float]:
    """The measured figures of a table with one row."""
    kept = json.loads((ROOT / "docs/papers-routes.json").read_text())["rows"]
    (row,) = [row for row in ROWS if row.table == table]
    return dict(kept[row.key]["ours"])


def test_optimised_routes_leave_few_dark_links_and_more_than_must_be() -> None:
    """Figure 5.9: less congestion than ftree and adaptive routing leave, but several links with severe congestion, since more links carry two flows than the four that must."""
    dark = {}
    for name in ("ftree", "adaptive", "optimised", "fewest-worst-links"):
        seen = load_seen(f"random-{name}")
        dark[name] = int((np.nan_to_num(seen.congested_fraction)[seen.fabric.router_links()] >= DARK).sum())
    assert dark["ftree"] > 5 * dark["optimised"] and dark["adaptive"] > dark["optimised"]
    assert dark["optimised"] > dark["fewest-worst-links"] > 0
    ours = kept_row("5.3")
    assert ours["of the fewest"] == 4 < ours["links with two flows"] <= dark["optimised"]
    assert ours["optimised"] < min(ours["ftree"], ours["adaptive"])


def test_the_fewest_worst_links_and_what_waits_behind_them_are_all_that_is_dark() -> None:
    """Figure 5.11: the four thick dark links are those with two flows, in the first pod; backpressure congests the others, which lead to them. In the text those are two: the row is `yes` only if ours are."""
    (plot,) = pictures.PLOTS["figure 5.11"]()
    seen = plot.seen
    src, dst = np.asarray(seen.fabric.links.src), np.asarray(seen.fabric.links.dst)
    pod = np.asarray(seen.fabric.routers.group)
    dark = np.flatnonzero(seen.fabric.router_links() & (np.nan_to_num(seen.congested_fraction) >= 0.1))
    thick = dark[seen.utilisation[dark] > 0.75 * seen.utilisation[dark].max()]
    assert len(thick) == 4
    one_flow = np.setdiff1d(dark, thick)
    assert seen.utilisation[one_flow] == pytest.approx(0.5 * seen.utilisation[thick].mean(), rel=0.05)
    waiting = set(thick.tolist())
    for _ in range(3):  # at most a leaf switch, a spine and a core switch are before a link down to a leaf switch
        waiting |= {int(link) for link in dark if dst[link] in {src[ahead] for ahead in waiting}}
    assert waiting == set(dark.tolist())
    assert (pod[src[thick]] == 0).all() and (pod[dst[thick]] == 0).all()
    assert (row_of("taffet2021", "figure 5.11").state == "yes") == (len(one_flow) == 2)


def test_pf3ds_plot_has_dark_thin_links_alongside_incasts_alone() -> None:
    """Figure 2.2: links that the job hardly uses are dark, those from the leaf switches to its nodes are not; alone no such link is there."""
    alone, loaded = (plot.seen for plot in pictures.PLOTS["figure 2.2"]())
    thin = {name: dark_and_thin(one) for name, one in (("alone", alone), ("loaded", loaded))}
    assert thin["alone"] == 0 and thin["loaded"] > 20
    assert fractions(loaded)["to nodes"] < 0.3 < fractions(loaded)["down"]


def dark_and_thin(seen: CongestionMap) -> int:
    between = seen.fabric.router_links()
    return int((between & (np.nan_to_num(seen.congested_fraction) >= DARK) & (seen.utilisation <= THIN)).sum())


def test_a_plot_puts_the_way_down_above_the_way_up_and_scales_all_plots_alike(tmp_path: Path) -> None:
    """Two leaf switches below one: up links are black and full, down links light and thin."""
    fabric = build_xgft(2, [2, 2], [1, 1])
    level, routers = np.asarray(fabric.routers.level), len(fabric.routers)
    src, dst = np.asarray(fabric.links.src), np.asarray(fabric.links.dst)
    between = (src < routers) & (dst < routers)
    up = between & (level[dst % routers] > level[src % routers])
    down = between & ~up
    seen = CongestionMap(fabric, np.where(up, 1.0, 0.0), np.where(up, 1.0, np.where(down, 0.25, 0.0)))
    found = fraction_plot.compute_halves(seen)
    assert len(found.src) == up.sum() + down.sum() and set(found.fraction) == {0.0, 1.0}
    plots = [
        fraction_plot.Plot(seen, "one"),
        fraction_plot.Plot(CongestionMap(fabric, seen.congested_fraction, seen.utilisation / 2), "half"),
    ]
    assert fraction_plot.Scale.of(plots).link == 1.0
    fraction_plot.draw_plots(plots, tmp_path / "plot.png")
    image = plt.imread(tmp_path / "plot.png")[..., 0]
    left, right = np.array_split(image, 2, axis=1)
    dark = [int((half < 0.1).sum()) for half in (left, right)]
    assert dark[0] > 1.5 * dark[1] > 0
    # In a column through the left slanting link: light above dark.
    column = left[:, left.shape[1] // 2 - left.shape[1] // 8]
    link = np.flatnonzero((column < 0.95) & (np.arange(column.size) < 0.9 * column.size))
    assert column[link[0]] > 0.5 > column[link].min() and link[column[link].argmin()] > link[0]


def test_kept_plots_are_what_packets_saw_to_a_step(tmp_path: Path) -> None:
    fabric = build_xgft(2, [2, 2], [1, 1])
    rng = np.random.default_rng(1)
    fraction = np.where(rng.random(len(fabric.links)) < 0.3, np.nan, rng.random(len(fabric.links)))
    carried = Carried(1e-3, rng.integers(0, 10**6, len(fabric.links)).astype(float), fraction, True)
    keep_seen("one", "xgft:2;2,2;1,1", carried, tmp_path)
    back, use = load_seen("one", tmp_path), use_of(fabric, carried)
    assert np.allclose(back.congested_fraction, fraction, atol=1 / 250, equal_nan=True)
    assert np.allclose(back.utilisation, use, atol=use.max() / 250)
