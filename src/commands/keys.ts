// The command line of the API keys: `npm run keys -- issue | list | revoke`. A key is shown once, when it is issued.
import { parseArgs } from 'node:util'
import { keyIdOf, redacted } from '../keys/format.js'
import { keysOf, type StoredKey } from '../keys/keys.js'
import type { Store } from '../store/store.js'
import {
  type Command,
  CommandError,
  noteUnknownOrganisation,
  organisationId,
  print,
  required,
  type Terminal,
  UsageError,
  visible,
} from './run-command.js'

const usage = `Usage:
  npm run keys -- issue --organisation ID --name NAME [--expires-in 90d] [--json]
  npm run keys -- list [--organisation ID] [--json]
  npm run keys -- revoke KEYID [--json]

--expires-in takes minutes, hours or days: 30m, 12h, 90d. MONGODB_URI names the database.`

/** The options of each action. */
const takes: Record<string, readonly string[]> = {
  issue: ['organisation', 'name', 'expires-in', 'json'],
  list: ['organisation', 'json'],
  revoke: ['json'],
}
/** No control characters, of direction neither, and no ends of lines. */
const NAME = /^(?=.*\S)[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 }

const run = async (store: Store, argv: string[], { out, err }: Terminal): Promise<void> => {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: {
      organisation: { type: 'string' },
      name: { type: 'string' },
      'expires-in': { type: 'string' },
      json: { type: 'boolean' },
    },
  })
  const keys = keysOf(store, () => {})
  const [action, named, ...rest] = positionals
  // Who has to revoke a key often has the whole key at hand: its secret is repeated nowhere.
  const keyId = named && (keyIdOf(named) ?? redacted(named))
  const wrong = action && Object.keys(values).find((option) => !takes[action]?.includes(option))
  if (wrong) throw new UsageError(`${action} takes no --${wrong}`)
  const show = (json: unknown, ...lines: readonly string[]) =>
    print(out, ...(values.json ? JSON.stringify(json, null, 2).split('\n') : lines))

  if (action === 'issue' && keyId === undefined) {
    const organisation = organisationId(required('organisation', values.organisation))
    const expiresAt =
      values['expires-in'] === undefined ? undefined : new Date(Date.now() + duration(values['expires-in']))
    const name = required('name', values.name)
    if (!NAME.test(name)) throw new UsageError('--name must be 1 to 100 characters, none of them a control character')
    const key = await keys.issue({ organisation, name, ...(expiresAt && { expiresAt }) })
    const [shown] = (await keys.list(organisation)).map(row).filter((row) => row.keyId === keyIdOf(key))
    show({ ...shown, key }, key, `Keep it now: it is not shown again. Its id is ${shown?.keyId}.`)
    await noteUnknownOrganisation(store, organisation, err)
  } else if (action === 'list' && keyId === undefined) {
    const organisation = values.organisation === undefined ? undefined : organisationId(values.organisation)
    const rows = (await keys.list(organisation)).map(row)
    show(rows, ...table(rows))
  } else if (action === 'revoke' && rest.length === 0) {
    if (!keyId) throw new UsageError('KEYID is missing')
    if (!(await keys.revoke(keyId))) throw new CommandError(`There is no key ${keyId}`)
    show({ keyId, revoked: true }, `Revoked ${keyId}: no instance takes it after 30 seconds`)
  } else {
    throw new UsageError(action === undefined ? 'Say what to do' : `Not understood: ${positionals.join(' ')}`)
  }
}

/** Milliseconds. */
const duration = (text: string): number => {
  const [, count, unit] = /^([1-9]\d{0,5})([mhd])$/.exec(text) ?? []
  if (unit === undefined) throw new UsageError(`--expires-in ${text} is no duration such as 30m, 12h or 90d`)
  return Number(count) * units[unit as keyof typeof units]
}

const columns = ['keyId', 'organisation', 'name', 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'] as const

/** A key as it is listed: null where it has no such text or instant, and what does not fit about it. */
const row = ({ document, fault }: StoredKey) => {
  const shown = (name: string) => {
    const value = document[name]
    return typeof value === 'string' || isInstant(value) ? value : null
  }
  const fields = Object.fromEntries(columns.map((name) => [name, shown(name)])) as Row
  return { ...fields, keyId: String(document._id), ...(fault !== undefined && { fault }) }
}

type Row = Record<(typeof columns)[number], string | Date | null> & { fault?: string }

const isInstant = (value: unknown): value is Date => value instanceof Date && !Number.isNaN(value.getTime())

const table = (rows: readonly Row[]): string[] => {
  const names = rows.some(({ fault }) => fault !== undefined) ? ([...columns, 'fault'] as const) : columns
  const cell = (value: string | Date | null | undefined) =>
    value instanceof Date ? value.toISOString() : visible(value ?? '-')
  const cells = [[...names], ...rows.map((each) => names.map((name) => cell(each[name])))]
  const widths = names.map((_, i) => Math.max(...cells.map((line) => (line[i] as string).length)))
  return cells.map((line) =>
    line
      .map((text, i) => text.padEnd(widths[i] as number))
      .join('  ')
      .trimEnd(),
  )
}

export const keysCommand: Command = { usage, run }
