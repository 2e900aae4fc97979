"""A hook of the site's builder: pages ask nothing of third parties.

    pip install 'weft[docs]' && mkdocs build && python -m http.server --directory site

The theme's search for pages without a server fetches a script from elsewhere; that line is taken out, so that search
needs the small server above, and no internet.
"""

from __future__ import annotations

import re
from typing import Any

_ELSEWHERE = re.compile(r"<script src=\"https?://[^\"]+\"></script>")


def on_post_page(output: str, **_: Any) -> str:
    """A page without scripts from elsewhere."""
    return _ELSEWHERE.sub("", output)


def on_post_template(output_content: str, **_: Any) -> str:
    """The same of pages that are made from templates alone."""
    return _ELSEWHERE.sub("", output_content)
