// Writes a file that is complete, or is not there at all.
import { lstat, rename, rm, writeFile } from 'node:fs/promises'
import { CommandError } from './run-command.js'

/** Fails if the name of a file is taken. A file that exists is replaced with --force, anything else never. */
export const requireFree = async (file: string, force: boolean): Promise<void> => {
  const found = await lstat(file).catch(() => undefined)
  if (found === undefined) return
  if (!found.isFile()) throw new CommandError(`${file} exists and is not a regular file: name another file`)
  if (!force) throw new CommandError(`${file} exists: name another file, or use --force to replace it`)
}

/**
 * Writes the parts of a file beside it. It gets its name when all of them are on the disk, if that is still free.
 * @returns its size in bytes
 */
export const writeNew = async (file: string, force: boolean, parts: AsyncIterable<Buffer>): Promise<number> => {
  // No other export writes to it.
  const unfinished = `${file}.${process.pid}.part`
  try {
    await writeFile(unfinished, parts, { flush: true })
    await requireFree(file, force)
    const { size } = await lstat(unfinished)
    await rename(unfinished, file)
    return size
  } catch (error) {
    await rm(unfinished, { force: true })
    const { syscall, message } = error as NodeJS.ErrnoException
    throw syscall === undefined ? error : new CommandError(`${file} cannot be written: ${message}`)
  }
}
