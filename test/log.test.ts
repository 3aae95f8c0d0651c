// The log of the process: lines wait for each other, and none is lost.
import t from 'tap'
import { printed, runProgram, startProgram } from './support/process.js'

/** A program that writes so many lines of 100 characters to the log, and then does something else. */
const program = (lines: number, then: string): string[] => [
  '--eval',
  `const { openLog } = await import('./src/log.ts')
   const log = openLog()
   for (let i = 0; i < ${lines}; i++) log.write('x'.repeat(99) + '\\n')
   ${then}`,
]

t.test('a line is written soon, also where no other follows', async (t) => {
  const child = startProgram(t, '--input-type=module', { argv: program(1, 'setInterval(() => {}, 1000)') })
  await printed(child, /x\n/)
  t.equal(child.output().length, 100)
})

t.test('what makes a block is written at once, and the rest of it together with what follows', async (t) => {
  // A process that is killed in the same turn loses what waits.
  const { stdout } = await runProgram(t, '--input-type=module', {
    argv: program(100, "process.kill(process.pid, 'SIGKILL')"),
  })
  t.equal(stdout.length, 8200)
})

t.test('the end of the process writes what waits, be it by itself, by exit or by an error', async (t) => {
  for (const end of ['', 'process.exit(3)', "throw new Error('a fault')"]) {
    const { stdout } = await runProgram(t, '--input-type=module', { argv: program(100, end) })
    t.equal(stdout, `${'x'.repeat(99)}\n`.repeat(100), end)
  }
})
