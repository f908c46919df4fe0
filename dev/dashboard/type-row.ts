/** Row of the dashboard with the metrics by content type. */
import type { Row } from './panels.ts';
import { age, gauge, orZero, rate } from './queries.ts';

export const types: Row = {
  title: 'Content types',
  charts: [
    {
      title: 'In time, by type',
      about:
        'Share of decisions within `objective.age` of the oldest event of their batch. Types beyond metrics.maxTypes count as other.',
      unit: 'percentunit',
      lines: [
        [
          '{{type}}',
          `1 - ${rate('type_decisions_late_total', 'type')} / (${rate('type_decisions_total', 'type')} > 0)`,
        ],
      ],
    },
    {
      title: 'Oldest event, by type',
      about: 'Age of the oldest consumed event with neither a decision nor a dead letter.',
      unit: 's',
      lines: [['{{type}}', orZero(age('type_oldest_unsettled_timestamp_seconds', 'type'))]],
    },
    {
      title: 'In flight, by type',
      about:
        'Items consumed or recovered and not yet settled. unknown: dead letters to be published.',
      unit: 'short',
      stacked: true,
      lines: [['{{type}}', gauge('type_items_in_flight', 'type')]],
    },
    {
      title: 'Rows submitted, by type',
      about: 'Rows of created batches; those of a retry count again.',
      unit: 'ops',
      stacked: true,
      lines: [['{{type}}', rate('type_rows_submitted_total', 'type')]],
    },
    {
      title: 'Decisions, by type',
      about: 'Published decisions by status.',
      unit: 'ops',
      stacked: true,
      lines: [['{{type}} {{status}}', rate('type_decisions_total', 'type, status')]],
    },
    {
      title: 'Dead letters, by type',
      about: 'Source records that could not be reviewed. unknown: they could not be decoded.',
      unit: 'ops',
      stacked: true,
      lines: [['{{type}}', rate('type_dead_letters_total', 'type')]],
    },
  ],
};
