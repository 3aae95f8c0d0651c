// Reads CSV strictly by RFC 4180: what a lenient program might guess is an error here.

/** The cells of each row. A cell that is empty without quotes is undefined. */
export const readCsv = (text: string): (string | undefined)[][] => {
  const rows: (string | undefined)[][] = []
  let at = 0
  const cell = (): string | undefined => {
    if (text[at] !== '"') {
      const begin = at
      while (at < text.length && !',\r\n'.includes(text[at] as string)) {
        if (text[at] === '"') throw new Error(`A quote in a cell without quotes at ${at}`)
        at += 1
      }
      return at === begin ? undefined : text.slice(begin, at)
    }
    let value = ''
    for (;;) {
      const end = text.indexOf('"', at + 1)
      if (end === -1) throw new Error(`The quote at ${at} has no end`)
      value += text.slice(at + 1, end)
      at = end + 1
      if (text[at] !== '"') return value
      value += '"'
    }
  }
  while (at < text.length) {
    const row = [cell()]
    for (; text[at] === ','; row.push(cell())) at += 1
    if (!text.startsWith('\r\n', at)) throw new Error(`No end of a row at ${at}`)
    at += 2
    if (row.length !== (rows[0] ?? row).length) throw new Error(`Row ${rows.length} has ${row.length} cells`)
    rows.push(row)
  }
  return rows
}
