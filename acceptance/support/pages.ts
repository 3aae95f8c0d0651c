// The fenced blocks of README.md and of the pages in docs/, and whether what they show is what came.
import { readdirSync, readFileSync } from 'node:fs'

export interface Block {
  /** The page and the line of the fence, such as README.md:19. */
  readonly place: string
  readonly page: string
  readonly language: string
  readonly text: string
  /** Whether it stands behind another block, without a heading in between. */
  readonly follows: boolean
}

export const pages: readonly string[] = [
  'README.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** The blocks of a page. A fence may be indented. */
export const blocksOf = (page: string): Block[] => {
  const blocks: Block[] = []
  let open: { indent: number; line: number; language: string; lines: string[] } | undefined
  let follows = false
  for (const [at, line] of readFileSync(page, 'utf8').split('\n').entries()) {
    const [, indent = '', language = ''] = /^( *)```(.*)$/.exec(line) ?? [undefined]
    const isFence = /^ *```/.test(line)
    if (open === undefined) {
      if (isFence) open = { indent: indent.length, line: at + 1, language, lines: [] }
      else if (line.startsWith('#')) follows = false
    } else if (isFence) {
      blocks.push({
        place: `${page}:${open.line}`,
        page,
        language: open.language,
        text: open.lines.join('\n'),
        follows,
      })
      follows = true
      open = undefined
    } else open.lines.push(line.slice(open.indent))
  }
  return blocks
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/**
 * The first lines of a page that are not in a text, or undefined if all are, in their order and as whole lines. A line that
 * is only … stands for any lines, and … within a line for the rest of a word or of a sentence.
 */
export const firstMissing = (shown: string, text: string): string | undefined => {
  let rest = text
  for (const part of shown.split(/^ *…$\n?/m).filter((part) => part.trim() !== '')) {
    const lines = part.trimEnd().split('\n')
    const pattern = lines.map((line) => line.split('…').map(escaped).join('[^\\n]*')).join('\\n')
    const found = new RegExp(`^${pattern}$`, 'm').exec(rest)
    if (found === null) return part
    rest = rest.slice(found.index + found[0].length)
  }
}
