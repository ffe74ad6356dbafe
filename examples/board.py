"""The three best players, on a board in the hall, at any time.

Points come in game by game. A board has three places, and each place is written when its player or the points change;
what does not change is not written. A game that was won by cheating is taken back, and the player whom it pushed off
the board returns.

    $ python examples/board.py
    four games
      1. cyd 9
      2. ann 7
      3. bob 5
    dan wins twice
      1. dan 11
      2. cyd 9
      3. ann 7
    one of his games is taken back
      1. cyd 9
      2. ann 7
      3. dan 6
"""

import millstream as ms
from millstream import journal

job = ms.Job("board")

# A changelog: each record says by its op whether a game was played, or is taken back.
games = job.table(journal.source("games", changelog=True), schema="id BIGINT, player STRING, points INT", key="id")

board = games.group_by("player").agg(points="sum(points)").top(3, by="points DESC, player", rank="place")
board.to(journal.sink("board"))

if __name__ == "__main__":
    from millstream.testing import Delete, run

    def game(id: int, player: str, points: int) -> dict[str, object]:
        return {"id": id, "player": player, "points": points}

    story: dict[str, list[dict[str, object] | Delete]] = {
        "four games": [game(1, "ann", 7), game(2, "bob", 5), game(3, "cyd", 9), game(4, "dan", 1)],
        "dan wins twice": [game(5, "dan", 5), game(6, "dan", 5)],
        "one of his games is taken back": [Delete(game(6, "dan", 5))],
    }
    result = run(job, {"games": list(story.values())})
    for line, board_now in zip(story, result["board"].tables, strict=True):
        print(line)
        for row in sorted(board_now, key=lambda row: row["place"]):
            print(f"  {row['place']}. {row['player']} {row['points']}")
