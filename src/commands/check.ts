// The command `check`: lists the stored documents that do not fit, or whose organisation does not exist. Its memory is constant.
import { KindGuard, type TObject, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/value'
import { strict } from '../../schemas/kit.js'
import { CHANGED_AT, collectionNames, collections, isRecordCollection } from '../core/documents/collections.js'
import { setsOf } from '../core/documents/former.js'
import { changeIn, STORED_KEY } from '../core/keys/keys.js'
import type { Stored } from '../core/store/store.js'
import { messagesOf } from './load-lines.js'
import { CommandError, type MakeCommand, newCommand, printed } from './run-command.js'

const example = 'check >findings.ndjson'
const details = `
The exit code is 1 if there are any; their number is on standard error. Fields
that no schema names are allowed, and null where a field of a record may be
missing.`

/** Gives the errors of a document; none if it fits. The schema is compiled, because there may be millions of documents. */
const checkOf = (schema: TObject, isHarmless = isLikeMissing) => {
  const compiled = TypeCompiler.Compile(schema)
  return (document: Readonly<Record<string, unknown>>): string[] =>
    compiled.Check(document) ? [] : messagesOf(compiled.Errors(document), 'a BSON date', isHarmless)
}

/** Whether responses are the same without the value. */
const isLikeMissing = ({ type, value, schema }: ValueError): boolean =>
  type === ValueErrorType.ObjectAdditionalProperties || (value === null && KindGuard.IsOptional(schema))

const text = Type.String()
const optional = Type.Optional(text)
const tombstone = { _id: text, deletedFrom: text, deletedAt: Type.Date(), project: optional, form: optional }

/** What identifies a document, as text, because any writer may have stored anything there. */
const identityOf = (stored: Stored): object => {
  if ('error' in stored) return {}
  const { _id, organisation, deletedFrom } = stored.document
  const owner = organisation ?? deletedFrom
  return { id: String(_id), ...(owner !== undefined && { organisation: String(owner) }) }
}

export const checkCommand: MakeCommand = ({ out, tell, open }) =>
  newCommand('check', 'List the stored documents that do not fit, one JSON object a line', example, details)
    .option('--no-stamps', 'leave out the check of change stamps')
    .action(async ({ stamps }) => {
      const store = open()
      let count = 0
      let unfit = 0
      let clock = 0
      const organisations = new Set((await store.dangerouslyFindAll('organisations', {})).map(({ _id }) => _id))
      /** Whether a time has not come yet by the database's clock. The clock is read again only if it may matter. */
      const isAhead = async (time: unknown): Promise<boolean> => {
        if (Number(time) > clock) clock = (await store.now()).now
        return Number(time) > clock
      }
      for (const name of collectionNames) {
        const isRecord = isRecordCollection(name)
        const withStamp = isRecord && stamps
        const { properties } = collections[name].schema
        const sets = isRecord ? setsOf(name) : {}
        const checkTombstone = checkOf(strict({ ...tombstone, ...sets }))
        const schema = strict({ ...properties, ...sets, ...(withStamp && { [CHANGED_AT]: Type.Date() }) })
        // A key that does not match its schema is refused.
        const isKey = name === 'apiKeys'
        const checkRecord = isKey ? checkOf(STORED_KEY, () => false) : checkOf(schema)
        const errorsOf = async (stored: Stored): Promise<string[]> => {
          if ('error' in stored) return [`cannot be read: ${stored.error}`]
          const { document } = stored
          const isMarked = isRecord && 'deletedFrom' in document
          const owner = document.organisation ?? document.deletedFrom
          // The revoked keys of an organisation that was removed are kept.
          const isOwned = isRecord || (isKey && !document.revokedAt)
          const errors = stored.isIdBroken ? ['id: is not valid UTF-8'] : []
          if (isOwned && typeof owner === 'string' && !organisations.has(owner))
            errors.push('organisation: does not exist')
          if (isMarked && !('organisation' in document)) return [...errors, ...checkTombstone(document)]
          if (isMarked) errors.push('deletedFrom: must not be in a record')
          errors.push(...checkRecord(document))
          const change = isKey && errors.length === 0 ? changeIn(document as never) : undefined
          if (change !== undefined) errors.push(change)
          if (withStamp && (await isAhead(document[CHANGED_AT])))
            errors.push(`${CHANGED_AT}: is ahead of the database’s clock, and no feed shows the record until then`)
          return errors
        }
        for await (const batch of store.dangerouslyReadAll(name)) {
          count += batch.length
          for (const stored of batch) {
            const errors = await errorsOf(stored)
            if (errors.length === 0) continue
            unfit += 1
            await printed(out, JSON.stringify({ collection: name, ...identityOf(stored), errors }))
          }
        }
      }
      if (unfit > 0) throw new CommandError(`Documents that do not fit: ${unfit} of ${count}`)
      tell(`All documents fit: ${count}`)
    })
