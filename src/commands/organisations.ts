// The command `npm run organisations`: adds organisations and lists them. Keys and records can only be added to an
// organisation that exists.
import { randomBytes } from 'node:crypto'
import type { Store } from '../store/store.js'
import {
  type Command,
  CommandError,
  nameOf,
  organisationId,
  parseAction,
  printResult,
  type Terminal,
} from './run-command.js'
import { cellOf, table } from './table.js'

const usage = `Usage:
  npm run organisations -- add --name NAME [--id ID] [--json]
  npm run organisations -- list [--json]
  npm run organisations -- --help

Without --id, the organisation gets a random id. MONGODB_URI names the database.`

const actions = { add: { options: ['name', 'id'] }, list: { options: [] } } as const

const run = async (store: Store, argv: string[], { out }: Terminal): Promise<void> => {
  const { action, values, json } = parseAction(argv, actions)
  if (action === 'list') {
    const rows = await list(store)
    printResult(out, json, rows, table(['id', 'name', 'createdAt'], rows))
    return
  }
  const name = nameOf(values.name)
  const id = values.id === undefined ? randomBytes(12).toString('hex') : organisationId('id', values.id)
  if ((await store.dangerouslyFind('organisations', id)) !== undefined) {
    throw new CommandError(`Organisation ${id} exists already`)
  }
  const createdAt = new Date()
  await store.insert('organisations', [{ _id: id, name, createdAt, updatedAt: createdAt }])
  printResult(out, json, { id, name, createdAt }, [
    `Added organisation ${id}`,
    `Issue a key for it with: npm run keys -- issue --organisation ${id} --name NAME`,
  ])
}

const list = async (store: Store) => {
  const documents = await store.dangerouslyFindAll('organisations', {})
  return documents
    .map(({ _id, name, createdAt }) => ({ id: String(_id), name: cellOf(name), createdAt: cellOf(createdAt) }))
    .sort((one, other) => String(one.name).localeCompare(String(other.name), 'en'))
}

export const organisationsCommand: Command = { usage, run }
