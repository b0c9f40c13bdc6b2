"""Write the report with another model."""

from datetime import datetime, timezone

import anthropic


def write(topic: str, findings: dict[str, str]) -> str:
    lines = [f"- {question}: {answer}" for question, answer in findings.items()]
    stamp = datetime.now(timezone.utc).strftime("%d %b %Y %H:%M:%S.%f")
    message = anthropic.Anthropic().messages.create(
        model="claude-opus-4",
        max_tokens=500,
        messages=[{"role": "user", "content": f"{stamp} {topic}\n" + "\n".join(lines)}],
    )
    return f"{stamp}\n" + "\n".join(lines) + f"\n{message.content[0].text} ({message.usage.input_tokens} in)"
