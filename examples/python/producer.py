"""Writes content events.

KAFKA_BROKERS=127.0.0.1:9092 TOPIC=content-events python producer.py
"""

import json
import os
import sys

from confluent_kafka import Producer

COMMENTS = [
    ("c-1", "u-7", "You have won! Click here."),
    ("c-2", "u-8", "Good morning to all of you."),
    ("c-3", "u-7", "Send money, and I tell you how to earn more."),
]

topic = os.environ.get("TOPIC", "content-events")
producer = Producer(
    {
        "bootstrap.servers": os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092"),
        # Retries must not write duplicates, because the connector reviews every record.
        "enable.idempotence": True,
        # Chooses partitions as Java clients do, unlike the default of librdkafka.
        "partitioner": "murmur2_random",
    }
)
failures = []


def delivered(error, message):
    if error is not None:
        failures.append(error)


for comment, author, text in COMMENTS:
    # The decision returns metadata unchanged, and has the same key.
    event = {
        "content": text,
        "type": "comment",
        "metadata": {"comment": comment, "author": {"id": author}},
    }
    producer.produce(topic, json.dumps(event), key=author, on_delivery=delivered)
producer.flush()
if failures:
    sys.exit(f"{len(failures)} comments were not sent: {failures[0]}")
print(f"sent {len(COMMENTS)} comments to {topic}")
