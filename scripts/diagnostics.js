// Shows what TypeScript says about the code.
import ts from 'typescript'

export const report = (diagnostic) =>
  process.stderr.write(
    ts.formatDiagnosticsWithColorAndContext([diagnostic], {
      getCurrentDirectory: ts.sys.getCurrentDirectory,
      getCanonicalFileName: (name) => name,
      getNewLine: () => '\n',
    }),
  )
