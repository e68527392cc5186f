"""What notebooks show: a schedule's loop tree and a log's best records, as HTML."""
import html


def loop_tree(schedule):
    rows = []
    for stage in schedule.stages:
        loops = schedule.loops(stage)
        if not loops:
            continue
        cells = "".join(
            f"<div style='margin-left:{1.2 * depth}em'><b>{html.escape(l.name)}</b> &lt; {'≤ ' if l.is_symbolic else ''}{l.extent}"
            f"{' <i>reduction</i>' if l.is_reduction else ''}{'' if l.annotation == 'none' else f' <code>{html.escape(l.annotation)}</code>'}</div>"
            for depth, l in enumerate(loops))
        rows.append(f"<tr><td style='vertical-align:top;text-align:left'><code>{html.escape(stage)}</code></td><td style='text-align:left'>{cells}</td></tr>")
    return f"<table><tr><th>stage</th><th>loops</th></tr>{''.join(rows)}</table>"
