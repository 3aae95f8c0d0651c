// What the tests of the pages read in Markdown.

export const withoutCode = (text: string): string => text.replace(/^```.*?^```/gms, '')

/** The sections of a page, each from a heading to the next one, by the anchors that GitHub gives them. */
export const sectionsOf = (page: string): Map<string, string> =>
  new Map(
    withoutCode(page)
      .split(/^#+ /m)
      .slice(1)
      .map((section) => {
        const [heading = ''] = section.split('\n')
        const words = heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '')
        return [words.replaceAll(' ', '-'), section]
      }),
  )
