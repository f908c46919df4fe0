/** Stores effects of decisions and positions of a consumer in one database, so each effect happens once. */
import type { DatabaseSync } from 'node:sqlite';
import type { ReceivedBatch } from 'content-review-consumer';

export function decisionStore(db: DatabaseSync) {
  db.exec(`
    PRAGMA busy_timeout = 10000;
    CREATE TABLE IF NOT EXISTS positions (
      topic TEXT, part INTEGER, next INTEGER NOT NULL, PRIMARY KEY (topic, part));
    CREATE TABLE IF NOT EXISTS verdicts (event_id TEXT NOT NULL, verdict TEXT);
  `);
  const read = db.prepare('SELECT part, next FROM positions WHERE topic = ?');
  const begin = db.prepare('INSERT INTO positions VALUES (?, ?, 0) ON CONFLICT DO NOTHING');
  const move = db.prepare(
    'UPDATE positions SET next = ? WHERE topic = ? AND part = ? AND next = ?',
  );
  const write = db.prepare('INSERT INTO verdicts VALUES (?, ?)');
  return {
    positions: (topic: string): Map<number, number> =>
      new Map(read.all(topic).map(({ part, next }) => [Number(part), Number(next)])),

    process({ topic, partition, from, to, records }: ReceivedBatch): void {
      db.exec('BEGIN IMMEDIATE');
      try {
        begin.run(topic, partition);
        // Another member, the new owner of the partition, has stored these records.
        if (move.run(to, topic, partition, from).changes === 0)
          throw new Error(`${topic}-${partition} is no longer at ${from}`);
        for (const record of records) {
          if (record.kind === 'decision') write.run(record.eventId, record.decision.result);
          if (record.kind === 'dead-letter')
            write.run(record.eventId, record.deadLetter['dead-letter-reason']);
        }
        db.exec('COMMIT');
      } catch (error) {
        db.exec('ROLLBACK');
        throw error;
      }
    },
  };
}
