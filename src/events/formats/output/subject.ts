/** Under which subject a topic's schema is: the three strategies of Confluent's serializers, or a name. */

export const SUBJECT_STRATEGIES = ['topic-name', 'record-name', 'topic-record-name'] as const;
export type SubjectStrategy = (typeof SUBJECT_STRATEGIES)[number];
export type SubjectChoice = SubjectStrategy | { readonly name: string };

export function subjectOf(choice: SubjectChoice, topic: string, recordName: string): string {
  switch (choice) {
    case 'topic-name':
      return `${topic}-value`;
    case 'record-name':
      return recordName;
    case 'topic-record-name':
      return `${topic}-${recordName}`;
    default:
      return choice.name;
  }
}
