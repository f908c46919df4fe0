"""Reads decisions and dead letters, in JSON or Avro. Stops cleanly on SIGTERM and Ctrl-C.

KAFKA_BROKERS=127.0.0.1:9092 python consumer.py
"""

import functools
import io
import json
import os
import signal
import urllib.request

import fastavro
from confluent_kafka import Consumer

DECISIONS = os.environ.get("DECISIONS", "content-events.decisions")
DEAD_LETTERS = os.environ.get("DEAD_LETTERS", "content-events.dead-letters")
# Only for output.format avro.
REGISTRY = os.environ.get("SCHEMA_REGISTRY", "http://127.0.0.1:8081")

# Represents a unique column that your database transaction writes with the effects.
seen = set()


@functools.cache
def schema(schema_id):
    with urllib.request.urlopen(f"{REGISTRY}/schemas/ids/{schema_id}", timeout=10) as answer:
        return fastavro.parse_schema(json.loads(json.load(answer)["schema"]))


def decision_of(value):
    if value[:1] != b"\0":
        return json.loads(value)
    # A zero byte, the schema id in four bytes, then the Avro data.
    schema_id = int.from_bytes(value[1:5], "big")
    decision = fastavro.schemaless_reader(io.BytesIO(value[5:]), schema(schema_id))
    # In Avro, metadata is JSON text.
    return {**decision, "metadata": json.loads(decision["metadata"])}


def process(message):
    headers = {name: value for name, value in message.headers() or [] if value is not None}
    event_id = headers.get("event-id", b"").decode()
    if event_id in seen:
        print(f"{event_id}: seen before", flush=True)
        return
    try:
        if message.topic() == DEAD_LETTERS:
            reason = headers["dead-letter-reason"].decode()
            print(f"{event_id}: dead letter, {reason}", flush=True)
        else:
            decision = decision_of(message.value())
            if decision["status"] == "SUCCESS":
                about = json.dumps(decision["metadata"])
                print(f"{event_id}: {decision['result']}, about {about}", flush=True)
            else:
                # This event gets no decision. More codes may be added.
                print(f"{event_id}: no decision, {decision['error']['code']}", flush=True)
    except Exception as error:
        # A record of another application must not stop this one.
        where = f"{message.topic()}-{message.partition()} {message.offset()}"
        print(f"{where}: unreadable, {type(error).__name__}", flush=True)
    seen.add(event_id)


def stop(*_):
    raise KeyboardInterrupt


signal.signal(signal.SIGTERM, stop)
consumer = Consumer(
    {
        "bootstrap.servers": os.environ.get("KAFKA_BROKERS", "127.0.0.1:9092"),
        "group.id": os.environ.get("GROUP", "moderation-python"),
        # The default of librdkafka, but explicit because correctness depends on it.
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
)
consumer.subscribe([DECISIONS, DEAD_LETTERS])
print("reading", flush=True)
try:
    while True:
        messages = consumer.consume(num_messages=500, timeout=0.5)
        for message in messages:
            if message.error():
                print(message.error(), flush=True)
            else:
                process(message)
        if any(not message.error() for message in messages):
            consumer.commit(asynchronous=False)
except KeyboardInterrupt:
    pass
finally:
    consumer.close()
