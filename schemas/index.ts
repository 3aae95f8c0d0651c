// Every schema that has an $id. The application registers each once, and the OpenAPI document shows it by its name.
import type { TSchema } from '@sinclair/typebox'
import { Agent, EntryAgent } from './agents.js'
import { Share } from './checks.js'
import { Dispatch, DispatchListItem, EntryDispatch } from './dispatches.js'
import { Answer, Entry, EntryListItem, EntryLocation, ListedAnswer } from './entries.js'
import { PageMetadata, Problem } from './envelope.js'
import { EntryForm, Form } from './forms.js'
import { Me } from './me.js'
import { DispatchProject, EntryProject, Project, ProjectListItem } from './projects.js'
import { changed, DeletedRecord, DigestMetadata, FeedMetadata, RangeDigest, UnreadableRecord } from './sync.js'
import { DispatchUser, User } from './users.js'

/** What each resource shows of a record in its list. */
const items = [DispatchListItem, ProjectListItem, EntryListItem, User, Agent, Form]

export const namedSchemas: ReadonlyMap<string, TSchema> = new Map(
  [
    ...items,
    Dispatch,
    Project,
    Entry,
    DispatchUser,
    EntryAgent,
    EntryForm,
    DispatchProject,
    EntryProject,
    EntryDispatch,
    EntryLocation,
    Answer,
    Me,
    PageMetadata,
    ...items.map(changed),
    DeletedRecord,
    UnreadableRecord,
    FeedMetadata,
    RangeDigest,
    DigestMetadata,
    Share,
    Problem,
  ].map((schema) => [schema.$id as string, schema]),
)

/** The same for responses that show each answer as a list. */
export const listedSchemas: ReadonlyMap<string, TSchema> = new Map([
  ...namedSchemas,
  [ListedAnswer.$id as string, ListedAnswer],
])
