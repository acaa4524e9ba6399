// Metadata values are texts, and many of them are JSON. It is laid out for reading without being
// rebuilt: parsing and printing it again would round big numbers and merge repeated keys.

/** `text` indented when it is a JSON object or array, else as it is. */
export function prettyJson(text: string): string {
  if (!/^\s*[[{]/.test(text) || !isJson(text)) return text;
  let out = '';
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') {
      const end = endOfString(text, at);
      out += text.slice(at, end);
      at = end - 1;
    } else if (character === '{' || character === '[') {
      const rest = /^\s*[\]}]/.exec(text.slice(at + 1, at + 64));
      if (rest) {
        out += character + rest[0].trim();
        at += rest[0].length;
      } else {
        depth += 1;
        out += character + lineBreak(depth);
      }
    } else if (character === '}' || character === ']') {
      depth -= 1;
      out += lineBreak(depth) + character;
    } else if (character === ',') out += character + lineBreak(depth);
    else if (character === ':') out += ': ';
    else if (!/\s/.test(character)) out += character;
  }
  return out;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function endOfString(text: string, begin: number): number {
  let at = begin + 1;
  while (text.charAt(at) !== '"') at += text.charAt(at) === '\\' ? 2 : 1;
  return at + 1;
}

function lineBreak(depth: number): string {
  return `\n${'  '.repeat(depth)}`;
}
