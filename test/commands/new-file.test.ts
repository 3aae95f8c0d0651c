// Files that are complete or not there at all.
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { requireFree, writeNew } from '../../src/commands/new-file.js'
import { CommandError } from '../../src/commands/run-command.js'

async function* partsOf(texts: readonly string[], end = async () => {}): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text)
  await end()
}

t.test('a file has its name when it is complete', async (t) => {
  const folder = t.testdir({ file: 'old' })
  const file = `${folder}/file`
  const look = async () => {
    t.equal(readFileSync(file, 'utf8'), 'old')
    t.equal(readFileSync(`${file}.part`, 'utf8'), 'ab')
  }
  t.equal(await writeNew(file, true, partsOf(['a', 'b'], look)), 2)
  t.equal(readFileSync(file, 'utf8'), 'ab')
  t.same(readdirSync(folder), ['file'])
})

t.test('a name is free, or its file may be replaced', async (t) => {
  const folder = t.testdir({ file: '' })
  mkdirSync(`${folder}/folder`)
  symlinkSync('file', `${folder}/link`)
  await requireFree(`${folder}/none`, false)
  await requireFree(`${folder}/file`, true)
  await t.rejects(requireFree(`${folder}/file`, false), /file exists: name another file, or use --force/)
  for (const name of ['folder', 'link']) {
    const message = new RegExp(`${name} exists and is not a regular file`)
    await t.rejects(requireFree(`${folder}/${name}`, true), message)
  }
})

t.test('what goes wrong leaves the folder as it was', async (t) => {
  const folder = t.testdir({ file: 'old', 'other.part': '' })
  const file = `${folder}/file`
  const full = () => Promise.reject(Object.assign(new Error('ENOSPC: no space left'), { syscall: 'write' }))
  await t.rejects(
    writeNew(file, true, partsOf(['a'], full)),
    new CommandError(`${file} cannot be written: ENOSPC: no space left`),
  )
  const bug = () => Promise.reject(new Error('a bug'))
  await t.rejects(writeNew(file, true, partsOf(['a'], bug)), new Error('a bug'))
  await t.rejects(writeNew(`${folder}/none/file`, false, partsOf([])), /none\/file cannot be written: ENOENT/)
  await t.rejects(
    writeNew(`${folder}/other`, false, partsOf([])),
    /other.part exists: another export writes it now, or was killed within the last hour. Delete it if none runs/,
  )
  t.same(readdirSync(folder), ['file', 'other.part'])
  t.equal(readFileSync(file, 'utf8'), 'old')
})

t.test('what an export left that was killed is replaced after an hour', async (t) => {
  const folder = t.testdir({ 'file.part': 'left' })
  const now = Date.now() / 1000
  utimesSync(`${folder}/file.part`, now, now - 3500)
  await t.rejects(writeNew(`${folder}/file`, false, partsOf(['a'])), /file.part exists/)
  utimesSync(`${folder}/file.part`, now, now - 3700)
  t.equal(await writeNew(`${folder}/file`, false, partsOf(['a'])), 1)
  t.same(readdirSync(folder), ['file'])
})

t.test('an export that was taken for killed leaves the file of the other one alone', async (t) => {
  const folder = t.testdir({})
  const file = `${folder}/file`
  const replaced = async () => {
    rmSync(`${file}.part`)
    writeFileSync(`${file}.part`, 'half')
  }
  await t.rejects(writeNew(file, false, partsOf(['a'], replaced)), /file.part was replaced by another export/)
  t.equal(readFileSync(`${file}.part`, 'utf8'), 'half')
  t.same(readdirSync(folder), ['file.part'])
})

t.test('a file that came meanwhile is not replaced', async (t) => {
  const folder = t.testdir({})
  const file = `${folder}/file`
  await t.rejects(
    writeNew(
      file,
      false,
      partsOf(['a'], async () => writeFileSync(file, 'other')),
    ),
    /file exists: name another file/,
  )
  t.equal(readFileSync(file, 'utf8'), 'other')
  t.same(readdirSync(folder), ['file'])
})

t.test('a file cannot take the name of a folder', async (t) => {
  const folder = t.testdir({ folder: { file: '' } })
  await t.rejects(writeNew(`${folder}/folder`, true, partsOf(['a'])), /folder exists and is not a regular file/)
  t.same(readdirSync(folder), ['folder'])
})
