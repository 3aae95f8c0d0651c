// The command `keys`: issues, lists, rotates and revokes API keys. A key is shown only once, when it is issued.
import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import type { TArray } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { type Hidden, hideable } from '../../schemas/kit.js'
import { type ApiKeyDocument, collections, type Only } from '../core/documents/collections.js'
import { keyIdOf, redacted } from '../core/keys/format.js'
import { keysOf, type StoredKey } from '../core/keys/keys.js'
import type { Store } from '../core/store/store.js'
import { BY, matching, nameOption, notEmpty, organisationId, requireOrganisation } from './arguments.js'
import { missingReferences } from './load-references.js'
import { CommandError, type MakeCommand, newCommand, newGroup, PROGRAM } from './run-command.js'
import { cellOf, table } from './table.js'

const keyIdForms = 'as list shows it, with or without fda_ before it, or the whole key'

const issueExample = "keys issue --organisation savannah --name 'Dashboard'"

const overlap = new Option('--overlap <TIME>', 'how long the old key still works')

export const keysCommand: MakeCommand = ({ result, tell, audit, open }) =>
  newGroup('keys', 'Issue, list, rotate and revoke API keys', issueExample)
    .addCommand(
      newCommand('issue', 'Issue a key and show it, once', issueExample)
        .requiredOption('--organisation <ID>', 'an organisation that exists', organisationId)
        .requiredOption('--name <NAME>', 'what the key is for', nameOption)
        .option('--expires-in <TIME>', 'minutes, hours or days, such as 30m, 12h or 90d', durationOf)
        .option('--without <WHAT>', 'what the key does not see: personal, places, or both with a comma', hiddenOf)
        .option(
          '--only <KIND=IDS...>',
          'the projects or forms that it sees, up to 50 of each: project=ID,ID or form=ID,ID; a record must be of one of each',
          onlyOf,
        )
        .option('--from <CIDRS>', 'the addresses or ranges from which it works, up to 50, with commas', fromOf)
        .option('--force', 'also if there is no such project or form')
        .option(...BY)
        .action(async ({ organisation, only, expiresIn, force, by, ...rest }) => {
          const store = open()
          await requireOrganisation(store, organisation)
          const line = { number: 1, size: 0, document: { only } }
          const missing = force ? [] : await missingReferences(store, 'apiKeys', organisation, [line])
          const [first, ...others] = missing.map(({ text }) => text)
          if (first) throw new CommandError(first, [...others, 'With --force the key is issued all the same'])
          const keys = keysOf(store, () => {})
          const expiresAt = expiresIn === undefined ? undefined : new Date(Date.now() + expiresIn)
          const { key, document } = await keys.issueStored({ organisation, only, expiresAt, issuedBy: by, ...rest })
          result({ ...rowOf({ document }), key }, [key], aboutNew(document))
          audit('keys issue', by, { keyId: document._id, organisation, only: document.only, from: document.from })
        }),
    )
    .addCommand(
      newCommand('list', 'List the keys without their secrets', 'keys list --organisation savannah')
        .option('--organisation <ID>', 'only the keys of this organisation', organisationId)
        .action(async ({ organisation }) => {
          const store = open()
          const rows = (await keysOf(store, () => {}).list(organisation)).map(rowOf)
          // The keys of an organisation that was removed are kept.
          if (organisation !== undefined && rows.length === 0) await requireOrganisation(store, organisation)
          result(rows, table(columns, rows, rareColumns))
        }),
    )
    .addCommand(
      newCommand('rotate', 'Issue a key in the place of another and show it, once', 'keys rotate bRqfAWGcrTFs')
        .argument('<KEYID>', `of the old key, ${keyIdForms}`, notEmpty)
        .addOption(overlap.argParser(durationOf).default(units.d, '24h'))
        .option('--expires-in <TIME>', 'of the new key; by default it lives as long as the old one', durationOf)
        .option(...BY)
        .action(async (keyIdOfOld, { overlap: overlapMs, expiresIn: lifetimeMs, by }) => {
          const store = open()
          const keys = keysOf(store, () => {})
          const oldId = idIn(keyIdOfOld)
          const old = await rotatable(store, oldId, await keys.find(oldId))
          const { key, document, end } = await keys.rotate(old, { overlapMs, lifetimeMs, issuedBy: by })
          const { _id: keyId, organisation, only, from } = document
          const rotated = { keyId: oldId, expiresAt: end }
          const about = [...aboutNew(document), `The old key ${oldId} works until ${end.toISOString()}.`]
          result({ ...rowOf({ document }), key, rotated }, [key], about)
          audit('keys rotate', by, { keyId, organisation, only, from, rotated: oldId })
        }),
    )
    .addCommand(
      newCommand('revoke', 'Revoke a key', 'keys revoke bRqfAWGcrTFs')
        .argument('<KEYID>', `of the key, ${keyIdForms}`, notEmpty)
        .option(...BY)
        .action(async (key, { by }) => {
          const store = open()
          const keyId = idIn(key)
          const revoked = await keysOf(store, () => {}).revoke(keyId, by)
          if (revoked === undefined) throw new CommandError(`Key ${keyId} does not exist`)
          const { organisation, revokedAt, revokedBy, successor } = revoked.stored.document as ApiKeyDocument
          if (!revoked.isFirst) {
            const who = revokedBy ? `, by ${revokedBy}` : ''
            throw new CommandError(`Key ${keyId} is revoked already, since ${revokedAt?.toISOString()}${who}`)
          }
          result({ keyId, revoked: true }, [`Revoked ${keyId}: within 30 seconds every instance refuses it`])
          if (successor) tell(`Its successor ${successor} was not revoked with it`)
          audit('keys revoke', by, { keyId, organisation })
          // The revocation was told already, if the database is lost now.
          const replaced = { successor: keyId, revokedAt: null }
          const [old] = await store.dangerouslyFindAll('apiKeys', replaced, 1).catch(() => [])
          const end = new Date(Number(old?.expiresAt))
          if (end > new Date()) tell(`Key ${old?._id}, which it replaced, works until ${end.toISOString()}`)
        }),
    )

/** What to know of a key that is shown. Not on stdout, so that a script can take the key from there. */
const aboutNew = ({ _id, expiresAt }: ApiKeyDocument): string[] => [
  `Keep it now: it is not shown again. Its id is ${_id}. If it is lost, rotate it by this id.`,
  ...(expiresAt ? [`It works until ${expiresAt.toISOString()}.`] : []),
]

/** The id of a key, as `keyIdForms` says it. The secret of a whole key must not appear in the output. */
const idIn = (key: string): string => keyIdOf(key) ?? redacted(key.replace(/^fda_(?=[0-9A-Za-z]{12}$)/, ''))

/** The key, if a new one may take its place. */
const rotatable = async (store: Store, keyId: string, stored: StoredKey | undefined): Promise<ApiKeyDocument> => {
  if (stored === undefined) throw new CommandError(`Key ${keyId} does not exist`)
  if (stored.error !== undefined) throw new CommandError(`Key ${keyId} is invalid: ${stored.error}`)
  const document = stored.document as ApiKeyDocument
  const { organisation, successor, revokedAt, expiresAt } = document
  if ((await store.dangerouslyFind('organisations', organisation)) === undefined)
    throw new CommandError(`Organisation ${organisation} of key ${keyId} does not exist: no key takes its place`)
  if (successor) throw new CommandError(`Key ${keyId} has been rotated: its successor is ${successor}`)
  const isOver = revokedAt ? 'is revoked' : expiresAt && expiresAt <= new Date() ? 'has expired' : undefined
  if (isOver === undefined) return document
  const options = Object.entries(optionsOf(document)).map(([name, value]) => (value ? ` --${name} ${value}` : ''))
  throw new CommandError(`Key ${keyId} ${isOver}`, [
    `Issue another one with: npx ${PROGRAM} keys issue --organisation ${organisation} --name NAME${options.join('')}`,
  ])
}

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 }

const durationOf = matching(
  /^[1-9]\d{0,5}[mhd]$/,
  'it must be a duration from 1m to 999999d, such as 30m, 12h or 90d',
  (text) => Number.parseInt(text, 10) * units[text.at(-1) as keyof typeof units],
)

const hiddenOf = (text: string): Hidden[] => {
  const words = text.split(',')
  const found = hideable.filter((kind) => words.includes(kind))
  if (found.length !== words.length)
    throw new InvalidArgumentError(`it must be ${hideable.join(', ')}, or both as ${hideable.join()}`)
  return found
}

const { only: onlySchema, from: fromSchema } = collections.apiKeys.schema.properties

/** How much of a wrong value an error shows. */
const SHOWN = 100

/** Adds the values of a list to those of the options before. */
const added = (before: readonly string[] = [], list: string, { items, maxItems }: TArray, what: string): string[] => {
  const all = [...new Set([...before, ...list.split(',')])]
  const wrong = all.find((value): boolean => !Value.Check(items, value))
  if (wrong !== undefined)
    throw new InvalidArgumentError(`${JSON.stringify(wrong.slice(0, SHOWN))} is no ${what}; commas separate them`)
  if (all.length <= Number(maxItems)) return all
  throw new InvalidArgumentError(`it may have ${maxItems} with those before it, and there are ${all.length}`)
}

const onlyOf = (text: string, before: Only = {}): Only => {
  const [, kind, list = ''] = /^(project|form)=(.*)$/s.exec(text) ?? []
  if (kind === undefined) throw new InvalidArgumentError('it must be project= or form= with ids behind it')
  const name = kind as keyof Only
  return { ...before, [name]: added(before[name], list, onlySchema.properties[name], 'id') }
}

const addresses = 'address or range, such as 203.0.113.7 or 2001:db8::/32 (IPv4 in its own form, no /0)'
const fromOf = (text: string, before?: readonly string[]) => added(before, text, fromSchema, addresses)

/** A word of a command line, as a shell takes it. */
const quoted = (text: string): string => (/^[\w.:,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** The options of `issue` for a key that sees as much, from the same addresses. */
const optionsOf = ({ without, only = {}, from }: Partial<ApiKeyDocument>) => {
  const kinds = Object.entries(only).map(([kind, ids]) => quoted(`${kind}=${ids}`))
  return { only: kinds.join(' ') || null, from: from?.join() ?? null, without: without?.join() ?? null }
}

const columns = ['keyId', 'organisation', 'name', 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'] as const
const rareColumns = ['without', 'only', 'from', 'issuedBy', 'revokedBy', 'successor', 'error'] as const

/** A key as it is listed, with the error if it does not match its schema. */
const rowOf = ({ document, error }: Pick<StoredKey, 'document'> & { error?: string | undefined }) => {
  const names = [...columns, 'issuedBy', 'revokedBy', 'successor'] as const
  const cells = Object.fromEntries(names.map((name) => [name, cellOf(document[name])]))
  const options = optionsOf(error === undefined ? document : {})
  return { ...cells, ...options, keyId: String(document._id), ...(error !== undefined && { error }) }
}
