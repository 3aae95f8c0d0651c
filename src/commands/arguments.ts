// Checks what commands are given.
import { InvalidArgumentError } from '@commander-js/extra-typings'
import { collections, ORGANISATION_ID } from '../core/documents/collections.js'
import type { Store } from '../core/store/store.js'
import { CommandError, PROGRAM } from './run-command.js'

export const matching =
  <T>(pattern: RegExp, message: string, read: (text: string) => T) =>
  (text: string): T => {
    if (pattern.test(text)) return read(text)
    throw new InvalidArgumentError(message)
  }

/** A text is empty where a script has a variable without a value. */
export const notEmpty = matching(/./s, 'it must not be empty', String)

const { description } = collections.organisations.schema.properties._id
export const organisationId = matching(ORGANISATION_ID, `it ${description}`, String)

/** A dash at the beginning is that of an option, whose name was left out before it. */
export const nameOption = matching(
  /^(?!-)(?=.*\S)[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u,
  'it must be 1 to 100 characters without control characters, not only spaces and no dash at the beginning',
  String,
)

export const BY = ['--by <NAME>', 'who does it, for the audit line', nameOption] as const

export const noOrganisation = (id: string): CommandError =>
  new CommandError(`Organisation ${id} does not exist`, [
    `Add it with: npx ${PROGRAM} organisations add --id ${id} --name NAME`,
    `List those that exist with: npx ${PROGRAM} organisations list`,
  ])

/** Fails unless the organisation exists: a mistyped id would otherwise get keys or records that nobody can find. */
export const requireOrganisation = async (store: Store, id: string): Promise<void> => {
  if ((await store.dangerouslyFind('organisations', id)) === undefined) throw noOrganisation(id)
}
