// The command that issues, lists, rotates and revokes keys.
import t, { type Test } from 'tap'
import { keysCommand } from '../../src/commands/keys.js'
import { makeKey, markOf } from '../../src/core/keys/format.js'
import { keysOf } from '../../src/core/keys/keys.js'
import { type Store, StoreUnavailable } from '../../src/core/store/store.js'
import { meanwhile, transcripts, tryCommand, wrongCalls } from '../support/command.js'
import { testStore, withoutUpdates } from '../support/store.js'

const now = new Date()
const organisations = [{ _id: 'org', name: 'Org', createdAt: now, updatedAt: now }]
const before = { organisations }
const hash = '0'.repeat(64)
/** A stored key. */
const stored = (_id: string, fields: object = {}) => ({
  ...{ _id, organisation: 'org', name: 'Sync', createdAt: new Date('2025-03-01T00:00:00Z') },
  hash: markOf(fields) + hash,
  ...fields,
})
const dated = { createdAt: now, updatedAt: now }
const records = {
  projects: ['p1', 'p2', 'theirs'].map((_id) => {
    const organisation = _id === 'theirs' ? 'other' : 'org'
    return { _id, organisation, name: _id, ...dated }
  }),
  forms: [{ _id: 'f 1', organisation: 'org', name: 'Form', status: 'active', dispatched: true, ...dated }],
}
const HINT = '2> Issue another one with: npx field-data-api keys issue --organisation org --name NAME'

transcripts(t, {
  'a key is shown once, listed without its secret, and revoked once': {
    before: { organisations, apiKeys: [stored('early0000000')] },
    lines: `
      $ keys issue --organisation org --name Second --by Ana
      <key A>
      2> Keep it now: it is not shown again. Its id is <keyId A>. If it is lost, rotate it by this id.
      2> {<audit>"action":"keys issue","by":"Ana","keyId":"<keyId A>","organisation":"org"}
      $ keys list
      keyId         organisation  name    createdAt                 expiresAt  revokedAt  lastUsedAt  issuedBy
      early0000000  org           Sync    2025-03-01T00:00:00.000Z  -          -          -           -
      <keyId A>  org           Second  <time>  -          -          -           Ana
      $ keys revoke <keyId A>
      Revoked <keyId A>: within 30 seconds every instance refuses it
      2> {<audit>"action":"keys revoke","keyId":"<keyId A>","organisation":"org"}
      $ keys revoke <keyId A> --by Ben --json
      2> Key <keyId A> is revoked already, since <time R>
      exit 1
      $ keys revoke early0000000 --by Cai --json
      {"keyId":"early0000000","revoked":true}
      2> {<audit>"action":"keys revoke","by":"Cai","keyId":"early0000000","organisation":"org"}
      $ keys revoke early0000000
      2> Key early0000000 is revoked already, since <time>, by Cai
      exit 1
      $ keys list --json --organisation org
      [{"keyId":"early0000000",…"revokedBy":"Cai",…},{"keyId":"<keyId A>",…"revokedAt":"<time R>",…}]
      $ keys issue --organisation org --name Third --json
      {"keyId":"<keyId B>","organisation":"org","name":"Third","createdAt":"<time>","expiresAt":null,…"key":"<key B>"}
      …`,
    after: {
      apiKeys: [
        { _id: 'early0000000', revokedAt: Date, revokedBy: 'Cai' },
        { _id: '<keyId A>', name: 'Second', issuedBy: 'Ana', revokedAt: Date, revokedBy: undefined },
        { _id: '<keyId B>', name: 'Third', issuedBy: undefined, revokedAt: undefined },
      ],
    },
  },
  'a new key takes the place of another, by its id, its id behind fda_, or the whole key': {
    before,
    lines: `
      $ keys issue --organisation org --name Sync
      <key A>
      2> …Its id is <keyId A>. …
      …
      $ keys rotate <key A> --by Ben --overlap 30m
      <key B>
      2> Keep it now: it is not shown again. Its id is <keyId B>. If it is lost, rotate it by this id.
      2> The old key <keyId A> works until <time>.
      2> {<audit>"action":"keys rotate","by":"Ben","keyId":"<keyId B>","organisation":"org","rotated":"<keyId A>"}
      $ keys rotate fda_<keyId B> --expires-in 2d
      <key C>
      2> …Its id is <keyId C>. …
      2> It works until <time>.
      2> The old key <keyId B> works until <time>.
      …
      $ keys rotate <keyId A>
      2> Key <keyId A> has been rotated: its successor is <keyId B>
      exit 1
      $ keys revoke <keyId B>
      Revoked <keyId B>: …
      2> Its successor <keyId C> was not revoked with it
      2> {…}
      2> Key <keyId A>, which it replaced, works until <time>
      $ keys revoke fda_<keyId A>
      Revoked <keyId A>: …
      2> Its successor <keyId B> was not revoked with it
      2> {…}
      $ keys revoke <key C>
      Revoked <keyId C>: …
      2> {…}`,
    after: {
      apiKeys: [
        { _id: '<keyId A>', expiresAt: Date, successor: '<keyId B>' },
        { _id: '<keyId B>', expiresAt: Date, successor: '<keyId C>', issuedBy: 'Ben' },
        { _id: '<keyId C>', expiresAt: Date, successor: undefined },
      ],
    },
  },
  'a key sees as much as the one in whose place it was issued': {
    before: { organisations, apiKeys: [stored('old000000000', { without: ['places', 'personal'] })] },
    lines: `
      $ keys rotate old000000000 --json
      {"keyId":"<keyId A>",…"without":"places,personal","key":"<key A>","rotated":{"keyId":"old000000000","expiresAt":"<time>"}}
      2> {…}
      $ keys list
      keyId         organisation  …  lastUsedAt  without          successor
      old000000000  org           …  -           places,personal  <keyId A>
      <keyId A>  org           …  -           places,personal  -
      $ keys issue --organisation org --name Other --without places,personal
      <key B>
      2> …Its id is <keyId B>. …
      …`,
    after: {
      apiKeys: [
        { _id: 'old000000000', successor: '<keyId A>' },
        { _id: '<keyId A>', without: ['places', 'personal'] },
        { _id: '<keyId B>', without: ['personal', 'places'] },
      ],
    },
  },
  'a key for some projects, forms and addresses shows them in one order, and so does its successor': {
    before: { organisations, ...records },
    lines: `
      $ keys issue --organisation org --name Part --only project=p2,p1 'form=f 1' --from 2001:db8::/32 --only project=p1,p2 --from 10.0.0.1 --by Ana
      <key A>
      2> …Its id is <keyId A>. …
      2> {<audit>"action":"keys issue","by":"Ana","keyId":"<keyId A>","organisation":"org","only":{"form":["f 1"],"project":["p1","p2"]},"from":["10.0.0.1","2001:db8::/32"]}
      $ keys rotate <keyId A>
      <key B>
      2> …Its id is <keyId B>. …
      2> The old key …
      2> {<audit>"action":"keys rotate","keyId":"<keyId B>","organisation":"org","only":{"form":["f 1"],"project":["p1","p2"]},"from":["10.0.0.1","2001:db8::/32"],"rotated":"<keyId A>"}
      $ keys issue --organisation org --name Part --only project=p1 --json
      {"keyId":"<keyId C>",…"only":"project=p1","from":null,"without":null,"key":"<key C>"}
      2> {<audit>"action":"keys issue","keyId":"<keyId C>","organisation":"org","only":{"project":["p1"]}}
      $ keys list
      keyId …  lastUsedAt  only                      from                    issuedBy  successor
      <keyId A> …  -           'form=f 1' project=p1,p2  10.0.0.1,2001:db8::/32  Ana       <keyId B>
      <keyId B> …  -           'form=f 1' project=p1,p2  10.0.0.1,2001:db8::/32  -         -
      <keyId C> …  -           project=p1                -                       -         -
      $ keys list --json
      […{…"only":"'form=f 1' project=p1,p2","from":"10.0.0.1,2001:db8::/32","without":null},{"keyId":"<keyId C>",…]`,
    after: {
      apiKeys: [
        { _id: '<keyId A>', only: { form: ['f 1'], project: ['p1', 'p2'] }, from: ['10.0.0.1', '2001:db8::/32'] },
        { _id: '<keyId B>', only: { form: ['f 1'], project: ['p1', 'p2'] }, from: ['10.0.0.1', '2001:db8::/32'] },
        { _id: '<keyId C>', only: { project: ['p1'] }, from: undefined },
      ],
    },
  },
  'no key is issued for projects and forms that the organisation does not have, unless it is forced': {
    before: { organisations, ...records },
    lines: `
      $ keys issue --organisation org --name Part --only project=p1,theirs,p9 --only form=f9
      2> only.form: org has no "f9" in forms
      2> only.project: org has no "theirs" in projects
      2> only.project: org has no "p9" in projects
      2> With --force the key is issued all the same
      exit 1
      $ keys issue --organisation org --name Part --only project=p1,theirs,p9 --only form=f9 --force
      <key A>
      2> …Its id is <keyId A>. …
      …`,
    after: { apiKeys: [{ _id: '<keyId A>', only: { form: ['f9'], project: ['p1', 'p9', 'theirs'] } }] },
  },
  'a key that is over, invalid or of no organisation is not rotated': {
    before: {
      organisations,
      apiKeys: [
        stored('gone00000000', { organisation: 'gone', revokedAt: now }),
        stored('expired00000', { expiresAt: now }),
        stored('without00000', { expiresAt: now, without: ['personal', 'places'] }),
        stored('only00000000', {
          ...{ expiresAt: now, without: ['places'], from: ['10.0.0.0/8', '::1'] },
          only: { form: ["it's", '$(x)'], project: ['a', 'b'] },
        }),
        stored('revoked00000', { revokedAt: now }),
        stored('invalid00000', { hash: 'x' }),
        stored('endless00000'),
      ],
    },
    lines: `
      $ keys rotate gone00000000
      2> Organisation gone of key gone00000000 does not exist: no key takes its place
      exit 1
      $ keys rotate expired00000
      2> Key expired00000 has expired
      ${HINT}
      exit 1
      $ keys rotate without00000
      2> Key without00000 has expired
      ${HINT} --without personal,places
      exit 1
      $ keys rotate only00000000
      2> Key only00000000 has expired
      ${HINT} --only 'form=it'\\''s,$(x)' project=a,b --from 10.0.0.0/8,::1 --without places
      exit 1
      $ keys rotate revoked00000
      2> Key revoked00000 is revoked
      ${HINT}
      exit 1
      $ keys rotate invalid00000
      2> Key invalid00000 is invalid: hash: expected string to match …
      exit 1
      $ keys rotate endless00000 --expires-in 1m
      2> The new key would end at <time>, before the old one at <time>: it needs more time, or the old one less overlap
      exit 1
      $ keys rotate fda_bRqfAWGcrTFs
      2> Key bRqfAWGcrTFs does not exist
      exit 1
      $ keys revoke nobody
      2> Key nobody does not exist
      exit 1`,
    after: {
      apiKeys: ['gone', 'expired', 'without', 'only', 'revoked', 'invalid', 'endless'].map((_id) => ({
        _id: _id.padEnd(12, '0'),
        successor: undefined,
      })),
    },
  },
  'no key is issued or listed for an organisation that does not exist, but the keys of one that was removed are listed':
    {
      before: { apiKeys: [stored('removed00000', { organisation: 'removed' })] },
      lines: `
      $ keys issue --organisation other --name Sync
      2> Organisation other does not exist
      2> Add it with: npx field-data-api organisations add --id other --name NAME
      2> List those that exist with: npx field-data-api organisations list
      exit 1
      $ keys list --organisation other
      2> Organisation other does not exist
      …
      exit 1
      $ keys list --organisation removed
      keyId …
      removed00000  removed  …`,
      after: { apiKeys: [{ _id: 'removed00000' }] },
    },
  'a stored key that is invalid, or whose name has control characters, is listed, and can be revoked': {
    before: {
      organisations,
      apiKeys: [
        stored('invalid00000', { organisation: { $ne: 'x' }, createdAt: 'once', revokedAt: 'soon' }),
        stored('control00000', { name: '\u001b[31mRed\u202e\nfda' }),
      ],
    },
    lines: `
      $ keys list
      keyId …createdAt…lastUsedAt  error
      invalid00000  -             Sync                          once                      -          soon       -           organisation: expected string
      control00000  org           \\u001b[31mRed\\u202e\\u000afda  <time>  -          -          -           -
      $ keys list --json
      [{"keyId":"invalid00000","organisation":null,…"error":"organisation: expected string"},{"keyId":"control00000",…"without":null}]
      $ keys revoke invalid00000
      Revoked invalid00000: …
      …`,
    after: {
      apiKeys: [
        { _id: 'invalid00000', revokedAt: Date },
        { _id: 'control00000', revokedAt: undefined },
      ],
    },
  },
})

const prepare = async (t: Test) => {
  const store = testStore(t)
  await store.insert('organisations', organisations)
  const keys = (...argv: string[]) => tryCommand(keysCommand, store, argv)
  const issue = async (...argv: string[]) =>
    JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json', ...argv)).stdout)
  const verify = (key: string) => keysOf(withoutUpdates(store), () => {}).verify(key)
  return { keys, issue, store, verify }
}

const MINUTE = 60_000

t.test(
  'an old key and its successor both work, the old one for a while, the new one as long as it was to',
  async (t) => {
    const { keys, issue, verify } = await prepare(t)
    /** How long keys live, in minutes, when one of this lifetime is rotated so. */
    const livesOf = async (lifetime: readonly string[], ...argv: string[]) => {
      const old = await issue(...lifetime)
      const { stdout } = await keys('rotate', old.keyId, ...argv, '--json')
      const { key, rotated, expiresAt, createdAt } = JSON.parse(stdout)
      const ends = [rotated.expiresAt, expiresAt].map((end) => (end === null ? undefined : new Date(end)))
      t.match(await verify(old.key), { keyId: old.keyId, expiresAt: ends[0] })
      t.match(await verify(key), { organisation: 'org', keyName: 'Sync', expiresAt: ends[1] })
      return ends.map((end) => end && Math.round((Number(end) - Date.parse(createdAt)) / MINUTE))
    }
    t.same(await livesOf(['--expires-in', '90d']), [1440, 90 * 1440])
    t.same(await livesOf([], '--overlap', '30m'), [30, undefined])
    t.same(await livesOf([], '--expires-in', '2d'), [1440, 2 * 1440])
    t.same(await livesOf(['--expires-in', '12h']), [720, 720], 'an old key that ends before still does')
  },
)

t.test('a key is shown, and a revocation told, also when the database is lost right after it was stored', async (t) => {
  const { issue, store } = await prepare(t)
  const { keyId } = await issue()
  for (const [argv, method] of [
    [['issue', '--organisation', 'org', '--name', 'Other'], 'insert'],
    [['rotate', keyId], 'update'],
    [['revoke', keyId], 'update'],
  ] as const) {
    let isLost = false
    const losing = meanwhile(store, 'after', method, async () => {
      isLost = true
    })
    const lost: Store = {
      ...losing,
      dangerouslyFindAll: async (name, ...call) => {
        if (isLost && name === 'apiKeys') throw new StoreUnavailable(new Error('lost'))
        return store.dangerouslyFindAll(name, ...call)
      },
    }
    const { code, stdout, output } = await tryCommand(keysCommand, lost, argv)
    t.match(
      { code, stdout, output },
      { code: 0, stdout: /^(fda_\w+|Revoked .*)\n$/, output: `"action":"keys ${argv[0]}"` },
    )
    t.ok(isLost)
  }
})

t.test('a wrong call says what is wrong', async (t) => {
  const issue = 'keys issue --organisation x --name'
  const each = (values: readonly string[], call: (value: string) => string, message: string) =>
    values.map((value) => [call(value), message] as const)
  const ids = ["''", '$x', "'a b'", '-x', 'x\u001b[2J', 'x\u202e', "'x\n'", 'x'.repeat(101)]
  const names = ["''", "' '", "'a\nb'", '\u001b[2Jx', 'x\u0085', "'x\u2028'", 'x\u202e', '--json', 'x'.repeat(101)]
  const hidden = ["''", 'names', 'personal,', 'personal,personal', "'personal, places'"]
  const many = Array.from({ length: 51 }, (_, n) => `10.0.0.${n}`).join()
  const only = ["''", 'project', 'agent=a', '=a', '__proto__=a', 'toString=a']
  const wrongIds = ['project=', 'project=a,,b', "'project=a\nb'", `form=${'x'.repeat(501)}`]
  const from = ["''", '10.0.0.0/33', '10.0.0', '::1/129', '0.0.0.0/0', '10.0.0.1:80', 'localhost', '10.0.0.1,']
  // All addresses of IPv4 are in these.
  from.push('::ffff:10.0.0.0/8', '::/64', 'fe80::1%eth0', '10.0.0.1,localhost,10.0.0.2')
  await wrongCalls(t, [
    ['keys', 'Usage: keys [options] [command]'],
    ['keys forget', "Unknown command 'forget'"],
    ['keys isue', "Unknown command 'isue'\n(Did you mean issue?)\n\nUsage: "],
    ["keys 'forget\u001b[2J\n'", "Unknown command 'forget\\u001b[2J\\u000a'"],
    ['keys issue --name x', "Required option '--organisation <ID>' not specified"],
    ['keys issue --organisation x', "Required option '--name <NAME>' not specified"],
    [
      `${issue} x --expires-in soon`,
      "'soon' is invalid: it must be a duration from 1m to 999999d, such as 30m, 12h or 90d",
    ],
    ['keys rotate x --overlap 0h', "'0h' is invalid: it must be a duration from 1m to 999999d"],
    ["keys revoke ''", "Command-argument value '' is invalid for argument 'KEYID': it must not be empty"],
    ['keys revoke', "Missing required argument 'KEYID'"],
    ['keys revoke a b', "Too many arguments for 'revoke'. Expected 1 argument but got 2"],
    ["keys list '--a\u001bll'", "Unknown option '--a\\u001bll'"],
    ...each(ids, (id) => `keys list --organisation=${id}`, 'is invalid: it must be 1 to 100 letters'),
    ...each(names, (name) => `${issue} ${name}`, 'is invalid: it must be 1 to 100 characters'),
    ...each(names.slice(0, 1), (name) => `${issue} x --by ${name}`, 'is invalid: it must be 1 to 100 characters'),
    ...each(only, (what) => `${issue} x --only ${what}`, 'is invalid: it must be project= or form= with ids behind it'),
    ...each(wrongIds, (what) => `${issue} x --only form=f --only ${what}`, 'is no id; commas separate them'),
    ...each(
      from,
      (what) => `${issue} x --from 10.1.1.1 --from ${what}`,
      'is no address or range, such as 203.0.113.7 or 2001:db8::/32 (IPv4 in its own form, no /0); commas separate them',
    ),
    [`${issue} x --from 10.1.1.1 --from ${many}`, 'is invalid: it may have 50 with those before it, and there are 52'],
    [
      `${issue} x --only form=f --only form=${many}`,
      'is invalid: it may have 50 with those before it, and there are 52',
    ],
    ...each(
      hidden,
      (what) => `${issue} x --without ${what}`,
      'it must be personal, places, or both as personal,places',
    ),
  ])
})

t.test('no message has the secret of a key that was given in a wrong place or with an error', async (t) => {
  const { keys } = await prepare(t)
  const key = makeKey()
  for (const argv of [['revoke', `${key}x`], ['rotate', `${key}x`], ['list', key], [key]]) {
    const { code, output } = await keys(...argv)
    t.ok(code > 0)
    t.notMatch(output, key.slice(17))
  }
})
