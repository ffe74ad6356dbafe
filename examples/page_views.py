"""How long do people stay? A visit is a row of page views with no pause of half an hour in it.

No event says when a visit ends: it has ended when half an hour has passed without a view. Until then a view that comes
late can still make it longer, or join two visits into one. Visits are written once, when they are over.

    $ python examples/page_views.py
    ann 12:00 to 12:50, pages: 2
    ann 14:00 to 14:30, pages: 1
    bob 12:05 to 12:35, pages: 1
"""

import millstream as ms
from millstream import journal

job = ms.Job("page_views")

views = job.stream(
    journal.source("views"), schema="user STRING, page STRING, at TIMESTAMP", time="at", lateness="5 minutes"
)

visits = views.window(ms.session("30 minutes")).group_by("user").agg(pages="count(*)").final()
visits.to(journal.sink("visits"))

if __name__ == "__main__":
    from millstream.testing import Watermark, run

    seen = [("ann", "/", "12:00"), ("bob", "/", "12:05"), ("ann", "/boots", "12:20"), ("ann", "/", "14:00")]
    rows = [{"user": user, "page": page, "at": f"2026-01-01T{clock}:00Z"} for user, page, clock in seen]
    result = run(job, {"views": [rows, [Watermark("2026-01-01T15:00:00Z")]]})
    for visit in sorted(result["visits"].rows, key=lambda row: (row["user"], row["window_start"])):
        start, end = visit["window_start"][11:16], visit["window_end"][11:16]
        print(f"{visit['user']} {start} to {end}, pages: {visit['pages']}")
