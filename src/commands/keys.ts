// The command `keys`: issues, lists and revokes API keys. A key is shown only once, when it is issued.
import { InvalidArgumentError } from '@commander-js/extra-typings'
import { type Hidden, hideable } from '../../schemas/kit.js'
import { keyIdOf, redacted } from '../keys/format.js'
import { keysOf, type StoredKey } from '../keys/keys.js'
import {
  CommandError,
  type MakeCommand,
  nameOf,
  newCommand,
  organisationId,
  print,
  printResult,
  requireOrganisation,
} from './run-command.js'
import { cellOf, table } from './table.js'

const issueExample = "keys issue --organisation savannah --name 'Dashboard'"

export const keysCommand: MakeCommand = ({ out, err, onStore }) =>
  newCommand('keys', 'Issue, list and revoke API keys', issueExample)
    .addCommand(
      newCommand('issue', 'Issue a key and show it, once', issueExample)
        .requiredOption('--organisation <ID>', 'an organisation that exists', organisationId)
        .requiredOption('--name <NAME>', 'what the key is for', nameOf)
        .option('--expires-in <TIME>', 'minutes, hours or days, such as 30m, 12h or 90d', timeAfter)
        .option('--without <WHAT>', 'what the key does not see: personal, places, or both with a comma', hiddenOf)
        .option('--json', 'print the key as JSON')
        .action(({ organisation, name, expiresIn: expiresAt, without, json = false }) =>
          onStore(async (store) => {
            const keys = keysOf(store, () => {})
            await requireOrganisation(store, organisation)
            const key = await keys.issue({
              organisation,
              name,
              ...(expiresAt && { expiresAt }),
              ...(without && { without }),
            })
            const issued = (await keys.list(organisation)).map(rowOf).find(({ keyId }) => keyId === keyIdOf(key))
            printResult(out, json, { ...issued, key }, [key])
            // Not on stdout, so that a script can take the key from there.
            if (!json) print(err, `Keep it now: it is not shown again. Its id is ${issued?.keyId}.`)
          }),
        ),
    )
    .addCommand(
      newCommand('list', 'List the keys without their secrets', 'keys list --organisation savannah')
        .option('--organisation <ID>', 'only the keys of this organisation', organisationId)
        .option('--json', 'print the keys as JSON')
        .action(({ organisation, json = false }) =>
          onStore(async (store) => {
            if (organisation !== undefined) await requireOrganisation(store, organisation)
            const rows = (await keysOf(store, () => {}).list(organisation)).map(rowOf)
            const hasErrors = rows.some(({ error }) => error !== undefined)
            printResult(out, json, rows, table(hasErrors ? [...columns, 'error'] : columns, rows))
          }),
        ),
    )
    .addCommand(
      newCommand('revoke', 'Revoke a key', 'keys revoke bRqfAWGcrTFs')
        .argument('<KEYID>', 'the id of the key, as list shows it')
        .option('--json', 'print the result as JSON')
        .action((key, { json = false }) =>
          onStore(async (store) => {
            // A whole key is accepted in place of its id. Its secret must not appear in the output.
            const keyId = keyIdOf(key) ?? redacted(key)
            if (!(await keysOf(store, () => {}).revoke(keyId))) throw new CommandError(`Key ${keyId} does not exist`)
            printResult(out, json, { keyId, revoked: true }, [
              `Revoked ${keyId}: within 30 seconds every instance refuses it`,
            ])
          }),
        ),
    )

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Reads --expires-in. */
const timeAfter = (duration: string): Date => {
  const [, count, unit] = /^([1-9]\d{0,5})([mhd])$/.exec(duration) ?? []
  if (unit === undefined)
    throw new InvalidArgumentError('it must be a duration from 1m to 999999d, such as 30m, 12h or 90d')
  return new Date(Date.now() + Number(count) * units[unit as keyof typeof units])
}

/** Reads --without. */
const hiddenOf = (text: string): Hidden[] => {
  const words = text.split(',')
  const found = hideable.filter((kind) => words.includes(kind))
  if (found.length !== words.length) throw new InvalidArgumentError(`it must be one or both of ${hideable.join(',')}`)
  return found
}

const columns = [
  'keyId',
  'organisation',
  'name',
  'createdAt',
  'expiresAt',
  'revokedAt',
  'lastUsedAt',
  'without',
] as const

type Row = Record<(typeof columns)[number], ReturnType<typeof cellOf>> & { error?: string }

/** A key as it is listed, with the error if it does not match its schema. */
const rowOf = ({ document, error }: StoredKey): Row => {
  const cells = Object.fromEntries(columns.map((column) => [column, cellOf(document[column])])) as Row
  // As --without takes it.
  const without = Array.isArray(document.without) ? document.without.join() : null
  return { ...cells, without, keyId: String(document._id), ...(error !== undefined && { error }) }
}
