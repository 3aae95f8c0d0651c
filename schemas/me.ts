// GET /v1/me: what a key may read, and within which limits.
import { type Static, Type } from '@sinclair/typebox'
import { exampleOrganisation, Id, Text, Timestamp } from './common.js'
import { hideable, word } from './kit.js'

const ids = (description: string) =>
  Type.Optional(Type.Unsafe<readonly string[]>(Type.Array(Id('Id of a record.'), { description })))

export type Me = Static<typeof Me>
export const Me = Type.Object(
  {
    organisation: Type.Object(
      {
        id: Id('Id of the organisation.', exampleOrganisation),
        name: Type.Optional(Text('Name of the organisation. Left out if it has none.', 'Savannah Field Research')),
      },
      { title: 'Organisation', description: 'The organisation whose data the key reads.' },
    ),
    key: Type.Object(
      {
        id: Text('Id of the key, which is its public part.', 'bRqfAWGcrTFs'),
        name: Text('Name that the key got when it was issued.', 'Dashboard'),
        expiresAt: Type.Optional(Timestamp('When the key expires. Left out if it does not.')),
        without: Type.Optional(
          Type.Array(word(hideable, { title: 'Hidden', description: 'What the key does not see.' }), {
            description:
              'What the key was issued without: such fields are left out of every response. Left out if it sees everything.',
          }),
        ),
        only: Type.Optional(
          Type.Object(
            {
              project: ids('Ids of the projects.'),
              form: ids('Ids of the forms.'),
            },
            {
              title: 'Only',
              description:
                'The projects and the forms whose records the key sees. With both, a record is of one of each. Left out if it sees those of all.',
            },
          ),
        ),
      },
      { title: 'Key', description: 'The key of this request.' },
    ),
    limits: Type.Object(
      {
        perPage: Type.Integer({ description: 'Largest `perPage`.', examples: [1000] }),
        ids: Type.Integer({ description: 'Largest number of ids in `ids`.', examples: [100] }),
        wait: Type.Integer({ description: 'Longest `wait` of a change feed, in seconds.', examples: [60] }),
        requestsPerMinute: Type.Optional(
          Type.Integer({
            description:
              'How many requests a minute each instance takes with this key. Left out if there is no such limit.',
            examples: [600],
          }),
        ),
        urlBytes: Type.Integer({ description: 'Longest URL, in bytes.', examples: [8000] }),
        settleMs: Type.Integer({
          description:
            'How long a change takes to settle, in milliseconds. A change feed shows it at once, and again then; by `changedSince` only then.',
          examples: [10_000],
        }),
        tombstoneDays: Type.Integer({
          description: 'How long deletions are remembered, in days. A cursor of a change feed expires then.',
          examples: [90],
        }),
      },
      { title: 'Limits', description: 'The limits of a request.' },
    ),
  },
  { $id: 'Me', description: 'The organisation and the limits of a key.' },
)
