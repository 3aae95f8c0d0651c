// Writes a file that is complete, or is not there at all.
import { lstat, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { CommandError } from './run-command.js'

/** An unfinished file that nobody has written for so long was left by an export that was killed, in milliseconds. */
const LEFT_MS = 3_600_000

/** Fails if the name of a file is taken. A file that exists is replaced with --force, anything else never. */
export const requireFree = async (file: string, force: boolean): Promise<void> => {
  const found = await lstat(file).catch(() => undefined)
  if (found === undefined) return
  if (!found.isFile()) throw new CommandError(`${file} exists and is not a regular file: name another file`)
  if (!force) throw new CommandError(`${file} exists: name another file, or use --force to replace it`)
}

/**
 * Writes the parts of a file. It gets its name when all of them are on the disk, if that is still free.
 * @returns its size in bytes
 */
export const writeNew = async (file: string, force: boolean, parts: AsyncIterable<Buffer>): Promise<number> => {
  const unfinished = `${file}.part`
  const failed = (error: NodeJS.ErrnoException): never => {
    if (error.syscall === undefined) throw error
    throw new CommandError(
      error.code === 'EEXIST'
        ? `${unfinished} exists: another export writes it now, or was killed within the last hour. Delete it if none runs`
        : `${file} cannot be written: ${error.message}`,
    )
  }
  const left = await stat(unfinished).catch(() => undefined)
  if (left !== undefined && Date.now() - left.mtimeMs > LEFT_MS) await rm(unfinished, { force: true }).catch(failed)
  const handle = await open(unfinished, 'wx').catch(failed)
  const { ino } = await handle.stat()
  /** Whether no other export took this one for killed, and replaced what it writes. */
  const isOurs = async (): Promise<boolean> => (await stat(unfinished).catch(() => undefined))?.ino === ino
  try {
    await writeFile(handle, parts)
    await handle.sync()
    const { size } = await handle.stat()
    await handle.close()
    await requireFree(file, force)
    if (!(await isOurs())) throw new CommandError(`${unfinished} was replaced by another export`)
    await rename(unfinished, file)
    return size
  } catch (error) {
    await handle.close()
    if (await isOurs()) await rm(unfinished, { force: true })
    return failed(error as Error)
  }
}
