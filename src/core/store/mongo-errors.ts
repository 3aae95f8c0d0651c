// What the errors of the driver mean for the service.
import { MongoBulkWriteError, MongoNetworkError, MongoServerError, MongoSystemError } from 'mongodb'
import { ChunkMoved, QueryTimeout, StoreUnavailable } from './store.js'

const DUPLICATE_KEY = 11_000
const AUTHENTICATION_FAILED = 18
/** The query took too long, or what it sorts or collects takes more memory than it may. A narrower filter helps, or an index. */
const TOO_MUCH_WORK = new Set([
  50, // MaxTimeMSExpired
  146, // ExceededMemoryLimit
  292, // QueryExceededMemoryLimitNoDiskUseAllowed
  10_334, // BSONObjectTooLarge
])
/** Error codes of a server that cannot serve data at the moment, for example because the primary changes. */
const OUTAGES = new Set([
  AUTHENTICATION_FAILED,
  6, // HostUnreachable
  7, // HostNotFound
  89, // NetworkTimeout
  91, // ShutdownInProgress
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  189, // PrimarySteppedDown
  262, // ExceededTimeLimit
  9001, // SocketException
  10_107, // NotWritablePrimary
  11_600, // InterruptedAtShutdown
  11_602, // InterruptedDueToReplStateChange
  13_435, // NotPrimaryNoSecondaryOk
  13_436, // NotPrimaryOrSecondary
])
/** What FerretDB says, with this code of any internal error, when PostgreSQL is down, starts, stops or hangs up. */
const INTERNAL_ERROR = 1
const WITHOUT_POSTGRESQL =
  /failed to connect to|the database system is|terminating connection|too many clients|unexpected EOF|conn closed|connection reset/
/** What a router says of a statement that changes the shard of a document, unless it is sent by itself and is for one document. */
const ALONE = /must be sent with write batch of size 1|Multi-update operations are not allowed/
/** Errors of the driver when its pool is exhausted, or when the server, the pool or the client was closed meanwhile. */
const POOL_ERRORS = new Set([
  'MongoWaitQueueTimeoutError',
  'MongoPoolClosedError',
  'MongoServerClosedError',
  'MongoTopologyClosedError',
  'MongoNotConnectedError',
  'MongoClientClosedError',
])

/** An error of the driver as the Store interface has it, or as it is. */
export const storeError = (thrown: unknown): unknown => {
  // The driver wraps the error that ended a bulk insert.
  const error = thrown instanceof MongoBulkWriteError && isOutage(thrown.errorResponse) ? thrown.errorResponse : thrown
  if (error instanceof MongoServerError && error.code === DUPLICATE_KEY && error.message.includes('orphan'))
    return new ChunkMoved(error)
  if (error instanceof MongoServerError && TOO_MUCH_WORK.has(Number(error.code))) return new QueryTimeout(error)
  return isOutage(error) ? new StoreUnavailable(error) : error
}

export const isAllTaken = (error: unknown): boolean =>
  error instanceof MongoBulkWriteError &&
  error.code === DUPLICATE_KEY &&
  [error.writeErrors].flat().every(({ code }) => code === DUPLICATE_KEY) &&
  error.result.getWriteConcernError() === undefined

/** Whether a statement fails only because it has to be for one document. */
export const isForOne = (error: unknown): boolean => error instanceof MongoServerError && ALONE.test(error.message)

/** The statements of a bulk that have to be sent by themselves. Throws the error if another one than a taken id ended the bulk. */
export const sentAlone = <T>(error: unknown, statements: readonly T[], ordered: boolean): readonly T[] => {
  const failed = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : []
  const alone = failed.filter(({ errmsg }) => ALONE.test(String(errmsg)))
  const isOther = failed.some((each) => !alone.includes(each) && each.code !== DUPLICATE_KEY)
  if (alone[0] === undefined || isOther) throw error
  // An ordered bulk ends with its first error.
  return ordered ? statements.slice(alone[0].index) : alone.map(({ index }) => statements[index] as T)
}

/** Whether a second try may succeed. If no server was found in time or the login failed, it would only take longer. */
export const isWorthAgain = (error: unknown): boolean => {
  if (!(error instanceof StoreUnavailable)) return false
  const { cause } = error
  if (cause instanceof MongoServerError) return cause.code !== AUTHENTICATION_FAILED
  return cause instanceof MongoNetworkError || isSystemError(cause)
}

const isOutage = (error: unknown): boolean =>
  error instanceof MongoNetworkError ||
  error instanceof MongoSystemError ||
  POOL_ERRORS.has((error as Error).name) ||
  (error instanceof MongoServerError && OUTAGES.has(Number(error.code))) ||
  (error instanceof MongoServerError && error.code === INTERNAL_ERROR && WITHOUT_POSTGRESQL.test(error.message)) ||
  isSystemError(error)

/** An error of Node that the driver passes on: DNS for a mongodb+srv URI, or a write to a lost connection. */
const isSystemError = (error: unknown): boolean => {
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall?.startsWith('query') === true || code === 'EPIPE' || code === 'ECONNRESET'
}
