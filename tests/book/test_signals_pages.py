"""Pages on the stored networks of CIFAR show none of its images, which are not ours to give."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("signals_benchmark", "one_store", "lira", "membership_game", "who_is_exposed")


def test_images_of_cifar_are_on_no_page_of_signals():
    for page in PAGES:
        text = (ROOT / "book" / f"{page}.ipynb").read_text(encoding="utf-8")
        assert "data.signals(" in text and 'data.load(\\"cifar' not in text
        if page in ("signals_benchmark", "one_store"):
            assert "imshow" not in text and "data.load(" not in text
