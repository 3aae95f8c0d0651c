// The command `npm run keys`: issues, lists and revokes API keys. A key is shown only once, when it is issued.
import { keyIdOf, redacted } from '../keys/format.js'
import { keysOf, type StoredKey } from '../keys/keys.js'
import type { Store } from '../store/store.js'
import {
  type Command,
  CommandError,
  nameOf,
  organisationId,
  parseAction,
  printResult,
  required,
  requireOrganisation,
  type Terminal,
  UsageError,
} from './run-command.js'
import { cellOf, table } from './table.js'

const usage = `Usage:
  npm run keys -- issue --organisation ID --name NAME [--expires-in 90d] [--json]
  npm run keys -- list [--organisation ID] [--json]
  npm run keys -- revoke KEYID [--json]
  npm run keys -- --help

The organisation must exist: npm run organisations -- add --name NAME
--expires-in takes minutes, hours or days: 30m, 12h, 90d. MONGODB_URI names the database.`

const actions = {
  issue: { options: ['organisation', 'name', 'expires-in'] },
  list: { options: ['organisation'] },
  revoke: { argument: 'KEYID', options: [] },
} as const

const run = async (store: Store, argv: string[], { out }: Terminal): Promise<void> => {
  const { action, argument, values, json } = parseAction(argv, actions)
  const keys = keysOf(store, () => {})

  if (action === 'issue') {
    const organisation = organisationId('organisation', required('organisation', values.organisation))
    const expiresIn = values['expires-in']
    const expiresAt = expiresIn === undefined ? undefined : new Date(Date.now() + milliseconds(expiresIn))
    const name = nameOf(values.name)
    await requireOrganisation(store, organisation)
    const key = await keys.issue({ organisation, name, ...(expiresAt && { expiresAt }) })
    const issued = (await keys.list(organisation)).map(rowOf).find(({ keyId }) => keyId === keyIdOf(key))
    printResult(out, json, { ...issued, key }, [key, `Keep it now: it is not shown again. Its id is ${issued?.keyId}.`])
  } else if (action === 'list') {
    const organisation =
      values.organisation === undefined ? undefined : organisationId('organisation', values.organisation)
    const rows = (await keys.list(organisation)).map(rowOf)
    const hasErrors = rows.some(({ error }) => error !== undefined)
    printResult(out, json, rows, table(hasErrors ? [...columns, 'error'] : columns, rows))
  } else {
    // A whole key is accepted in place of its id. Its secret must not appear in the output.
    const keyId = keyIdOf(argument) ?? redacted(argument)
    if (!(await keys.revoke(keyId))) throw new CommandError(`Key ${keyId} does not exist`)
    printResult(out, json, { keyId, revoked: true }, [`Revoked ${keyId}: within 30 seconds every instance refuses it`])
  }
}

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 }

const milliseconds = (duration: string): number => {
  const [, count, unit] = /^([1-9]\d{0,5})([mhd])$/.exec(duration) ?? []
  if (unit === undefined) throw new UsageError(`--expires-in ${duration} must be a duration such as 30m, 12h or 90d`)
  return Number(count) * units[unit as keyof typeof units]
}

const columns = ['keyId', 'organisation', 'name', 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'] as const

type Row = Record<(typeof columns)[number], ReturnType<typeof cellOf>> & { error?: string }

/** A key as it is listed, with the error if it does not match its schema. */
const rowOf = ({ document, error }: StoredKey): Row => {
  const cells = Object.fromEntries(columns.map((column) => [column, cellOf(document[column])])) as Row
  return { ...cells, keyId: String(document._id), ...(error !== undefined && { error }) }
}

export const keysCommand: Command = { usage, run }
