// The command that issues, lists, rotates and revokes keys.
import t, { type Test } from 'tap'
import { keysCommand } from '../../src/commands/keys.js'
import { keysOf } from '../../src/keys/keys.js'
import { type Store, StoreUnavailable } from '../../src/store/store.js'
import { tryCommand } from '../support/command.js'
import { testStore, withoutUpdates } from '../support/store.js'

const prepare = async (t: Test) => {
  const store = testStore(t)
  const now = new Date()
  await store.insert('organisations', [{ _id: 'org', name: 'Org', createdAt: now, updatedAt: now }])
  const keys = (...argv: string[]) => tryCommand(keysCommand, store, argv)
  return { keys, store, verify: (key: string) => keysOf(withoutUpdates(store), () => {}).verify(key) }
}

t.test('a key is issued, works, is listed without its secret, and is revoked', async (t) => {
  const { keys, verify } = await prepare(t)
  const issued = await keys('issue', '--organisation', 'org', '--name', 'Sync', '--expires-in', '90d', '--json')
  t.equal(issued.code, 0)
  const { key, ...shown } = JSON.parse(issued.stdout)
  t.match(await verify(key), { organisation: 'org', keyId: shown.keyId })
  t.equal(Date.parse(shown.expiresAt) - Date.parse(shown.createdAt) >= 90 * 86_400_000 - 1000, true)

  const list = await keys('list', '--json')
  t.same(JSON.parse(list.stdout), [shown])
  t.notMatch(list.output, key.slice(17))

  t.match(await keys('revoke', shown.keyId), { code: 0, stdout: `Revoked ${shown.keyId}` })
  t.match(await verify(key), { refused: 'revoked' })
  const [first] = JSON.parse((await keys('list', '--organisation', 'org', '--json')).stdout)
  const again = await keys('revoke', shown.keyId, '--by', 'Ana', '--json')
  t.same(again, {
    ...{ code: 1, stdout: '' },
    output: `Key ${shown.keyId} is revoked already, since ${first.revokedAt}\n`,
  })
  const [second] = JSON.parse((await keys('list', '--organisation', 'org', '--json')).stdout)
  t.ok(first.revokedAt)
  t.equal(second.revokedAt, first.revokedAt, 'the time of the first revocation is kept')
})

const DAY = 86_400_000

/** The audit lines of a command, without their times. */
const auditIn = (output: string): object[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{"level":30,'))
    .map((line) => {
      const { time, ...audit } = JSON.parse(line)
      return audit
    })

t.test('who issued, rotated and revoked a key is kept and told in a line for the log', async (t) => {
  const { keys } = await prepare(t)
  const issued = await keys('issue', '--organisation', 'org', '--name', 'Sync', '--by', 'Ana')
  const { keyId } = JSON.parse((await keys('list', '--json')).stdout)[0]
  const line = { level: 30, msg: 'audit' }
  t.same(auditIn(issued.output), [{ ...line, action: 'keys issue', by: 'Ana', keyId, organisation: 'org' }])
  t.match((await keys('list')).stdout, /lastUsedAt +issuedBy\n\w{12} +org .* Ana\n$/)
  const rotated = await keys('rotate', keyId, '--by', 'Ben', '--json')
  const [old, next] = JSON.parse((await keys('list', '--json')).stdout)
  const what = { keyId: next.keyId, organisation: 'org', rotated: keyId }
  t.same(auditIn(rotated.output), [{ ...line, action: 'keys rotate', by: 'Ben', ...what }])
  const revoked = { ...line, action: 'keys revoke', organisation: 'org' }
  t.same(auditIn((await keys('revoke', keyId)).output), [{ ...revoked, keyId }])
  const byCai = await keys('revoke', next.keyId, '--by', 'Cai', '--json')
  t.same(auditIn(byCai.output), [{ ...revoked, keyId: next.keyId, by: 'Cai' }])
  t.same(JSON.parse(byCai.stdout), { keyId: next.keyId, revoked: true })
  t.match(
    (await keys('revoke', next.keyId, '--by', 'Dan')).output,
    /^Key \w{12} is revoked already, since \S+Z, by Cai\n$/,
  )
  t.match(old, { issuedBy: 'Ana', revokedBy: null, successor: next.keyId })
  t.match(JSON.parse((await keys('list', '--json')).stdout), [
    { issuedBy: 'Ana', revokedBy: null },
    { issuedBy: 'Ben', revokedBy: 'Cai', successor: null },
  ])
  t.match((await keys('list')).stdout, /lastUsedAt +issuedBy +revokedBy +successor\n/)
})

t.test('a key is rotated: both work for a while, and the new one lives as long as the old one was to', async (t) => {
  const { keys, store, verify } = await prepare(t)
  const issue = async (...argv: string[]) =>
    JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json', ...argv)).stdout)
  const old = await issue('--expires-in', '90d')
  const before = Date.now()
  const { stdout } = await keys('rotate', old.key, '--json')
  t.notMatch(stdout, old.key.slice(17))
  const { key, rotated, ...shown } = JSON.parse(stdout)
  t.match(await verify(key), { organisation: 'org', keyName: 'Sync' })
  t.match(await verify(old.key), { expiresAt: new Date(rotated.expiresAt) })
  t.equal(rotated.keyId, old.keyId)
  t.ok(Math.abs(Date.parse(rotated.expiresAt) - before - DAY) < 60_000, '24 hours')
  t.ok(Math.abs(Date.parse(shown.expiresAt) - before - 90 * DAY) < 60_000, '90 days')

  const again = await keys('rotate', old.keyId)
  t.match(again, { code: 1, output: `Key ${old.keyId} has been rotated: its successor is ${shown.keyId}\n` })
  await store.update('apiKeys', shown.keyId, { expiresAt: new Date(before + 60_000) })
  const early = JSON.parse((await keys('rotate', shown.keyId, '--expires-in', '2d', '--json')).stdout)
  t.equal(Date.parse(early.rotated.expiresAt), before + 60_000, 'an old key that ends before still does')
  t.ok(Math.abs(Date.parse(early.expiresAt) - before - 2 * DAY) < 60_000, '2 days')

  const tooShort = await issue()
  const { code, output: reason } = await keys('rotate', tooShort.keyId, '--expires-in', '1m')
  t.equal(code, 1)
  t.match(reason, /^The new key would end at \S+Z, before the old one at \S+Z: it needs more time, or the old one less/)
  t.match(await verify(tooShort.key), { expiresAt: undefined })
  t.match(
    (await keys('rotate', tooShort.keyId, '--expires-in', '2d')).output,
    /\. Its id is \w+\. If it is lost, rotate it by this id\.\nIt works until \S+Z\.\n/,
  )

  const endless = await issue()
  const { output, stdout: secret } = await keys('rotate', endless.keyId, '--overlap', '30m')
  t.match(secret, /^fda_\w+\n$/, 'a script can take the key')
  t.match(output, /^fda_\w+\nKeep it now.*\nThe old key \w{12} works until \S+Z\.\n\{/)
  t.match(await verify(secret.trim()), { keyName: 'Sync', expiresAt: undefined })
  const { expiresAt } = (await verify(endless.key)) as { expiresAt: Date }
  t.ok(Math.abs(Number(expiresAt) - before - 1_800_000) < 60_000, '30 minutes')
})

/** The store, where something happens before the old key of a rotation is written. */
const beforeClaim = (store: Store, happens: () => Promise<unknown>): Store => ({
  ...store,
  update: async (...call) => {
    if ('successor' in call[2]) await happens()
    return store.update(...call)
  },
})

t.test(
  'of two rotations at once one fails, and so does one that meets a revocation; neither leaves a key',
  async (t) => {
    const { keys, store } = await prepare(t)
    const issue = async () =>
      JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json')).stdout).keyId
    for (const other of ['rotate', 'revoke']) {
      const keyId = await issue()
      const before = (await store.dangerouslyFindAll('apiKeys', {})).length
      const meets = beforeClaim(store, async () => t.match(await keys(other, keyId), { code: 0 }))
      t.same(await tryCommand(keysCommand, meets, ['rotate', keyId]), {
        ...{ code: 1, stdout: '' },
        output: `Key ${keyId} was rotated or revoked meanwhile: no other key takes its place\n`,
      })
      const after = (await store.dangerouslyFindAll('apiKeys', {})).length
      t.equal(after, before + (other === 'rotate' ? 1 : 0), 'but for that of the other rotation')
    }
    const keyId = await issue()
    const both = await Promise.all([keys('rotate', keyId), keys('rotate', keyId)])
    t.same(both.map(({ code }) => code).sort(), [0, 1])
  },
)

t.test('a key is named by its id, by its id behind fda_, or by the whole key', async (t) => {
  const { keys } = await prepare(t)
  const issue = async () =>
    JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json')).stdout)
  for (const nameOf of [
    ({ keyId }: { keyId: string }) => keyId,
    ({ keyId }: { keyId: string }) => `fda_${keyId}`,
    ({ key }: { key: string }) => key,
  ]) {
    const issued = await issue()
    t.match(await keys('rotate', nameOf(issued)), { code: 0, output: `The old key ${issued.keyId} works until` })
    t.match(await keys('revoke', nameOf(issued)), { code: 0, stdout: `Revoked ${issued.keyId}: ` })
  }
  t.match(await keys('rotate', 'fda_bRqfAWGcrTFs'), { code: 1, output: 'Key bRqfAWGcrTFs does not exist\n' })
  for (const command of ['rotate', 'revoke']) {
    t.match(
      (await keys(command, '--help')).stdout.replace(/\s+/g, ' '),
      'with or without fda_ before it, or the whole key',
    )
  }
})

t.test('a revocation says that the successor of the key works on', async (t) => {
  const { keys } = await prepare(t)
  const { keyId } = JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json')).stdout)
  const next = JSON.parse((await keys('rotate', keyId, '--json')).stdout)
  t.match(await keys('revoke', keyId), { code: 0, output: `\nIts successor ${next.keyId} was not revoked with it\n{` })
})

t.test('a revocation says that the key which this one replaced works on', async (t) => {
  const { keys } = await prepare(t)
  const { keyId } = JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json')).stdout)
  const next = JSON.parse((await keys('rotate', keyId, '--json')).stdout)
  const last = JSON.parse((await keys('rotate', next.keyId, '--json')).stdout)
  t.match(
    (await keys('revoke', next.keyId)).output,
    new RegExp(`^Key ${keyId}, which it replaced, works until \\S+Z\n`, 'm'),
  )
  await keys('revoke', keyId)
  t.notMatch((await keys('revoke', last.keyId)).output, 'which it replaced')
})

t.test('the keys of an organisation that was removed are listed', async (t) => {
  const { keys, store } = await prepare(t)
  const { keyId } = JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json')).stdout)
  for await (const _ of store.dangerouslyErase('organisations', { _id: 'org' }));
  t.match(await keys('list', '--organisation', 'org'), { code: 0, stdout: keyId })
})

t.test('of two revocations at once the first is kept, and the other fails', async (t) => {
  const { keys, store } = await prepare(t)
  const { keyId } = JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json')).stdout)
  const late: Store = {
    ...store,
    update: async (...call) => {
      await keys('revoke', keyId, '--by', 'Ana')
      return store.update(...call)
    },
  }
  const second = await tryCommand(keysCommand, late, ['revoke', keyId, '--by', 'Ben'])
  t.match(second, { code: 1, output: /^Key \w{12} is revoked already, since \S+Z, by Ana\n$/ })
  t.match(await store.dangerouslyFind('apiKeys', keyId), { revokedBy: 'Ana' })
})

t.test('a key is shown, and a revocation told, also when the database is lost right after it was stored', async (t) => {
  const { keys, store } = await prepare(t)
  const { keyId } = JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json')).stdout)
  /** A store in which keys cannot be read once one was written. */
  const lost = (): Store => {
    let isLost = false
    return {
      ...store,
      insert: async (...call) => {
        await store.insert(...call)
        isLost = true
      },
      update: async (...call) => {
        isLost = true
        return store.update(...call)
      },
      dangerouslyFindAll: async (name, ...call) => {
        if (isLost && name === 'apiKeys') throw new StoreUnavailable(new Error('lost'))
        return store.dangerouslyFindAll(name, ...call)
      },
    }
  }
  for (const argv of [
    ['issue', '--organisation', 'org', '--name', 'Other'],
    ['rotate', keyId],
  ]) {
    t.match(await tryCommand(keysCommand, lost(), argv), { code: 0, stdout: /^fda_\w+\n$/, output: '"msg":"audit"' })
  }
  t.match(await tryCommand(keysCommand, lost(), ['revoke', keyId]), {
    code: 0,
    output: /^Revoked (.*\n)*.*"msg":"audit"/m,
  })
})

t.test('a key that is over, invalid or of no organisation is not rotated', async (t) => {
  const { keys, store } = await prepare(t)
  const { keyId } = JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json')).stdout)
  const hint = 'Issue another one with: npx field-data-api keys issue --organisation org --name NAME'
  const gone = `Organisation gone of key ${keyId} does not exist: no key takes its place\n`
  for (const [fields, message] of [
    [{ organisation: 'gone' }, gone],
    [{ organisation: 'org', expiresAt: new Date() }, `Key ${keyId} has expired\n${hint}\n`],
    [{ without: ['personal', 'places'] }, `Key ${keyId} has expired\n${hint} --without personal,places\n`],
    [{ revokedAt: new Date() }, `Key ${keyId} is revoked\n${hint}`],
    [{ organisation: 'gone' }, gone],
    [{ hash: 'x' }, `Key ${keyId} is invalid: hash: expected string to match`],
  ] as const) {
    await store.update('apiKeys', keyId, fields as object)
    const { code, output } = await keys('rotate', keyId)
    t.equal(code, 1)
    t.equal(output.slice(0, message.length), message)
    if (message === gone) t.equal(output, gone)
  }
  t.match(await keys('rotate', 'nobody'), { code: 1, output: /^Key nobody does not exist$/m })
  t.equal((await store.dangerouslyFindAll('apiKeys', {})).length, 1)
})

t.test('without --json, keys are a table and a new key comes with a warning to keep it', async (t) => {
  const { keys } = await prepare(t)
  const issued = await keys('issue', '--organisation', 'org', '--name', 'First')
  t.match(issued.output, /^fda_\w+\nKeep it now/)
  t.match(issued.stdout, /^fda_\w+\n$/, 'a script can take the key')
  await keys('issue', '--organisation', 'org', '--name', 'Second')
  const { stdout } = await keys('list')
  t.match(stdout, /^keyId +organisation +name .*\n\w{12} +org +First +\S+Z +- +- +-\n\w{12} +org +Second /)
  t.match(await keys('list', '--organisation', 'other'), { code: 1, output: /^Organisation other does not exist\n/ })
})

t.test('a key is issued without personal data or places, and listed so', async (t) => {
  const { keys, verify } = await prepare(t)
  for (const [given, without] of [
    ['personal', ['personal']],
    ['places', ['places']],
    ['places,personal', ['personal', 'places']],
  ] as const) {
    const issued = await keys('issue', '--organisation', 'org', '--name', given, '--without', given, '--json')
    const { key, ...shown } = JSON.parse(issued.stdout)
    t.equal(shown.without, without.join())
    t.match(await verify(key), { without })
    const rotated = JSON.parse((await keys('rotate', shown.keyId, '--json')).stdout)
    t.equal(rotated.without, shown.without, 'its successor sees as much')
    t.match(await verify(rotated.key), { without })
  }
  t.match(
    (await keys('list')).stdout,
    /lastUsedAt +without +successor\n.+ +personal +\w{12}\n.+ +personal +-\n.+ +places /,
  )
  for (const given of ['', 'names', 'personal,', 'personal,personal', 'personal, places']) {
    const refused = await keys('issue', '--organisation', 'org', '--name', 'x', '--without', given)
    t.match(refused, { code: 2, output: /it must be personal, places, or both as personal,places/ }, given)
  }
})

t.test('a key cannot be issued for an organisation that does not exist', async (t) => {
  const { keys, store } = await prepare(t)
  const { code, output } = await keys('issue', '--organisation', 'other', '--name', 'Sync')
  t.equal(code, 1)
  t.equal(
    output,
    'Organisation other does not exist\n' +
      'Add it with: npx field-data-api organisations add --id other --name NAME\n' +
      'List those that exist with: npx field-data-api organisations list\n',
  )
  t.same(await store.dangerouslyFindAll('apiKeys', {}), [])
})

t.test(
  'the help of the group and of each command shows a sample, and marks the options that are required',
  async (t) => {
    const { keys } = await prepare(t)
    const sample = "\n  $ npx field-data-api keys issue --organisation savannah --name 'Dashboard'\n"
    for (const argv of [['--help'], ['help']]) {
      t.match(await keys(...argv), { code: 0, stdout: sample })
      t.match((await keys(...argv)).stdout, /^Usage: keys \[options\] \[command\]\n/)
    }
    const help = await keys('issue', '--help')
    t.match(help, { code: 0, stdout: sample })
    t.match(
      help.stdout,
      /^ {2}--organisation <ID> .* \(required\)\n {2}--name <NAME> .* \(required\)\n.* such as .* 90d\n/m,
    )
    t.same(await keys('help', 'issue'), help)
  },
)

t.test('a wrong call says what is wrong and shows the usage', async (t) => {
  const { keys } = await prepare(t)
  for (const [argv, message] of [
    [[], 'Usage: keys [options] [command]'],
    [['forget'], "Unknown command 'forget'"],
    [['isue'], /^Unknown command 'isue'\n\(Did you mean issue\?\)\n\nUsage: .*\nHelp: .*\n$/],
    [['help', 'isue'], 'Issue a key and show it, once'],
    [['issue', '--name', 'x'], "Required option '--organisation <ID>' not specified"],
    [['issue', '--organisation', 'x'], "Required option '--name <NAME>' not specified"],
    [['issue', '--organization', 'x', '--name', 'y'], "Required option '--organisation <ID>' not specified"],
    [
      ['issue', '--organisation', 'x', '--name', 'x', '--expires-in', 'soon'],
      "'soon' is invalid: it must be a duration from 1m to 999999d, such as 30m, 12h or 90d",
    ],
    [['rotate', 'x', '--overlap', '0h'], "'0h' is invalid: it must be a duration from 1m to 999999d"],
    [['issue', '--organisation', 'x', '--name', 'x', '--by', ''], 'is invalid: it must be 1 to 100 characters'],
    [['revoke', ''], "Command-argument value '' is invalid for argument 'KEYID': it must not be empty"],
    [['revoke'], "Missing required argument 'KEYID'"],
    [['revoke', 'a', 'b'], "Too many arguments for 'revoke'. Expected 1 argument but got 2"],
    [['revoke', 'a', '--organisation', 'x'], "Unknown option '--organisation'"],
    [['list', '--name', 'x'], "Unknown option '--name'"],
    [['--json'], "Unknown option '--json'"],
    [['list', 'org'], "Too many arguments for 'list'"],
    ...['', '$x', 'a b', '-x', 'x\u001b[2J', 'x\u202e', 'x\n', 'x'.repeat(101)].flatMap((organisation) =>
      ['list', 'issue'].map((action) => [
        [action, `--organisation=${organisation}`, ...(action === 'issue' ? ['--name', 'x'] : [])],
        'is invalid: it must be 1 to 100 letters',
      ]),
    ),
    [['issue', '--organisation', 'x', '--name', 'a\nb'], 'is invalid: it must be 1 to 100 characters'],
    ...[' ', '\u001b[2Jx', 'x\u007f', 'x\u0085', 'x\u009b', 'x\u2028', 'x\u2029', 'x\u200e', 'x\u202e', 'x\u2066'].map(
      (name) => [['issue', '--organisation', 'x', '--name', name], 'is invalid: it must be 1 to 100 characters'],
    ),
    [['forget\u001b[2J\n'], "Unknown command 'forget\\u001b[2J\\u000a'"],
    [['list', '--a\u001bll'], "Unknown option '--a\\u001bll'"],
    [['issue', '--organisation', 'x', '--name', '--json'], 'is invalid: it must be 1 to 100 characters'],
    [['list', '--all'], "Unknown option '--all'"],
  ] as [string[], string | RegExp][]) {
    const { code, output } = await keys(...argv)
    t.equal(code, 2, argv.join(' '))
    t.match(output, message, argv.join(' '))
    t.match(output, 'Usage:')
  }
  const { key } = JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'x', '--json')).stdout)
  t.match(await keys('revoke', key), { code: 0, output: `Revoked ${key.slice(4, 16)}: ` }, 'the whole key is accepted')
  t.notMatch((await keys('revoke', `${key}x`)).output, key.slice(17), 'the secret is not printed')
  t.notMatch((await keys('list', key)).output, key.slice(17))
  t.notMatch((await keys(key)).output, key.slice(17))
  t.match(await keys('revoke', 'nobody'), { code: 1, output: /^Key nobody does not exist$/m })
})

t.test('an invalid stored key is listed with its error, and can be revoked', async (t) => {
  const { keys, store, verify } = await prepare(t)
  const { key, keyId } = JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json')).stdout)
  await store.update('apiKeys', keyId, { organisation: { $ne: 'x' }, createdAt: 'once', revokedAt: 'soon' } as object)
  await keys('issue', '--organisation', 'org', '--name', 'Good')
  const error = 'organisation: expected string'
  const [bad, good] = JSON.parse((await keys('list', '--json')).stdout)
  t.match(bad, { keyId, organisation: null, name: 'Sync', createdAt: 'once', error })
  t.equal('error' in good, false)
  t.match(
    (await keys('list')).stdout,
    /lastUsedAt +error\n\w{12} +- +Sync +once +- +soon +- +organisation: expected string\n/,
  )
  t.match(await keys('revoke', keyId), { code: 0 })
  t.type((await store.dangerouslyFind('apiKeys', keyId))?.revokedAt, Date)
  t.match(await verify(key), { refused: 'unknown' })
})

t.test('names that other programs stored are listed without control characters', async (t) => {
  const { keys, store } = await prepare(t)
  const { keyId } = JSON.parse((await keys('issue', '--organisation', 'org', '--name', 'Sync', '--json')).stdout)
  const name = '\u001b[31mRed\u202e\nfda'
  await store.update('apiKeys', keyId, { name })
  const { stdout } = await keys('list')
  const [head, row, ...rest] = stdout.split('\n') as [string, string]
  t.match(row, '  \\u001b[31mRed\\u202e\\u000afda  ')
  t.equal(row.search(/\d{4}-\d\d-\d\dT/), head.indexOf('createdAt'), 'in its column')
  t.same(rest, [''])
  const json = await keys('list', '--json')
  t.match(json.stdout, /^[\n -~]+$/)
  t.equal(JSON.parse(json.stdout)[0].name, name)
})
