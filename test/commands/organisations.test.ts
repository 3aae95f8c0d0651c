// The command that adds, lists, renames and removes organisations. test/commands/organisations-remove.test.ts says what a
// removal does.
import t from 'tap'
import { organisationsCommand } from '../../src/commands/organisations.js'
import { QueryTimeout, StoreUnavailable } from '../../src/core/store/store.js'
import { transcripts, tryCommand, wrongCalls } from '../support/command.js'
import { testStore } from '../support/store.js'
import { A, a, fillTenants } from '../support/tenants.js'

const dated = { createdAt: new Date(0), updatedAt: new Date(0) }
const water = { _id: 'w', name: 'Water', ...dated }

transcripts(t, {
  'an organisation is added, once, and keys can be issued for it': {
    lines: `
      $ organisations add --name 'Rural Water' --by Ana
      Added organisation <id A>
      Issue a key for it with: npx field-data-api keys issue --organisation <id A> --name NAME
      2> {<audit>"action":"organisations add","by":"Ana","organisation":"<id A>"}
      $ organisations add --name 'Health Watch' --id health --json
      {"id":"health","name":"Health Watch","createdAt":"<time>"}
      2> {<audit>"action":"organisations add","organisation":"health"}
      $ organisations add --name Other --id health
      2> Organisation health exists already
      exit 1
      $ keys issue --organisation <id A> --name Sync
      <key>
      …
      $ organisations list --json
      [{"id":"health","name":"Health Watch","createdAt":"<time>"},{"id":"<id A>","name":"Rural Water","createdAt":"<time>"}]`,
    after: {
      organisations: [
        { _id: '<id A>', name: 'Rural Water', createdAt: Date, updatedAt: Date },
        { _id: 'health', name: 'Health Watch' },
      ],
    },
  },
  'the list is a table in the order of the names, even if other programs stored odd values': {
    before: {
      organisations: [
        water,
        { _id: 'h', name: 'Health', ...dated },
        { _id: 'x', name: { odd: true }, createdAt: 'once\u001b' },
      ],
    },
    lines: `
      $ organisations list
      id  name    createdAt
      h   Health  1970-01-01T00:00:00.000Z
      x   -       once\\u001b
      w   Water   1970-01-01T00:00:00.000Z`,
  },
  'an organisation is renamed and keeps its id, and a name that another one has is allowed': {
    before: { organisations: [water, { _id: 'h', name: 'Health', ...dated }] },
    lines: `
      $ organisations rename w --name 'Rural Water' --by Ana --json
      {"id":"w","name":"Rural Water"}
      2> {<audit>"action":"organisations rename","by":"Ana","organisation":"w","name":"Rural Water"}
      $ organisations rename w --name 'Rural Water'
      Renamed organisation w
      2> {…}
      $ organisations rename h --name 'Rural Water'
      Renamed organisation h
      2> {…}
      $ organisations add --name 'Rural Water' --id z
      Added organisation z
      …
      2> {…}
      $ organisations rename x --name X
      2> Organisation x does not exist
      …
      exit 1`,
    after: {
      organisations: [
        { _id: 'h', name: 'Rural Water' },
        { _id: 'w', name: 'Rural Water', createdAt: new Date(0), updatedAt: Date },
        { _id: 'z' },
      ],
    },
  },
  'an organisation is removed once its name is typed': {
    before: fillTenants,
    lines: `
      $ keys issue --organisation ${A} --name Sync
      <key>
      2> …Its id is <keyId A>. …
      …
      $ organisations remove ${A}
      2> Organisation ${A} has:
      2>   users: 1
      …
      2>   keys: 1
      2> There is no terminal to ask on: use --yes
      exit 1
      $ organisations remove ${A}
      < Organisation B
      …
      2> Type Organisation A to remove all of it:
      2> That is another name: nothing was removed
      exit 1
      $ organisations remove ${A} --by Ana
      < Organisation A
      …
      2>   keys: 1
      2> Type Organisation A to remove all of it:
      2>
      2> {<audit>"action":"organisations remove begins","by":"Ana","organisation":"${A}"}
      2>
      2> {<audit>"action":"keys revoke","by":"Ana","keyId":"<keyId A>","organisation":"${A}"}
      2> Waiting 30 seconds, until every instance refuses its keys
      Revoked 1 keys
      Deleted 4 records and tombstones from entries
      …
      Deleted 1 records and tombstones from users
      Removed organisation ${A}
      2>
      2> {<audit>"action":"organisations remove","by":"Ana","organisation":"${A}","deleted":{"entries":4,…}}
      $ organisations remove ${A} --yes
      2> Organisation ${A} does not exist, and nothing is left of it
      exit 1
      $ check
      2> All documents fit: …`,
    after: { organisations: [{ _id: 'org-b' }], apiKeys: [{ _id: '<keyId A>', revokedBy: 'Ana' }] },
  },
  'an organisation without records is removed': {
    before: { organisations: [water] },
    lines: `
      $ organisations remove w --yes --json
      2> Organisation w has no records and no keys that work
      2> {…}
      {"id":"w","deleted":{"entries":0,…,"users":0},"keysRevoked":0}
      2> {…}`,
    after: { organisations: [] },
  },
  'what is written after a removal is found, and removed by its id, but not what belongs to nobody': {
    before: {
      users: [{ ...a.user, _id: 'shared', organisation: ['w'] }],
      forms: [{ ...a.form, organisation: 'w' }],
    },
    lines: `
      $ check --no-stamps
      {"collection":"users","id":"shared","organisation":"w","errors":["organisation: expected string"]}
      {"collection":"forms","id":"form-a","organisation":"w","errors":["organisation: does not exist"]}
      2> Documents that do not fit: 2 of 2
      exit 1
      $ organisations remove w
      < w
      2> Organisation w has:
      …
      2>   forms: 1
      2> Type w to remove all of it:
      2>
      2> {…}
      Revoked 0 keys
      …
      $ organisations remove w --yes
      2> Organisation w has:
      2>   users: 1
      2> {<audit>"action":"organisations remove begins","organisation":"w"}
      2> Organisation w does not exist, and nothing is left of it
      exit 1`,
    after: { users: [{ _id: 'shared' }], forms: [] },
  },
})

t.test('a wrong call says what is wrong', (t) =>
  wrongCalls(t, [
    ['organisations', 'Usage: organisations [options] [command]'],
    ['organisations delete', "Unknown command 'delete'"],
    ['organisations add', "Required option '--name <NAME>' not specified"],
    ['organisations add --name a\u0007', 'must be 1 to 100 characters'],
    ['organisations add --name x --id $x', 'must be 1 to 100 letters'],
    ["organisations add --name x --id ''", 'must be 1 to 100 letters'],
    ['organisations list --name x', "Unknown option '--name'"],
  ]),
)

t.test('what takes too long to count is removed all the same', async (t) => {
  const store = testStore(t)
  await fillTenants(store)
  const slow = { ...store, count: () => Promise.reject(new QueryTimeout('slow')) }
  const { code, output } = await tryCommand(organisationsCommand, slow, ['remove', A, '--yes'])
  t.match({ code, output }, { code: 0, output: `  entries: too many to count\n  deletions: too many to count\n` })
  t.equal(await store.dangerouslyFind('users', a.user._id), undefined)
  const lost = { ...store, count: () => Promise.reject(new StoreUnavailable(new Error('gone'))) }
  t.match(await tryCommand(organisationsCommand, lost, ['remove', 'org-b', '--yes']), { code: 1, output: 'gone' })
})
