// All resources, in the order of the documentation.
import type { RecordCollection } from '../documents/collections.js'
import { agents } from './agents.js'
import { dispatches } from './dispatches.js'
import { entries } from './entries.js'
import { forms } from './forms.js'
import { projects } from './projects.js'
import type { Resource } from './resource.js'
import { users } from './users.js'

export const resources: { readonly [C in RecordCollection]: Resource } = {
  dispatches,
  projects,
  entries,
  forms,
  agents,
  users,
}
