// A language model also keeps what it has read: the KV cache, for a context that the user chooses.
import { type ReactNode, useId } from 'react';
import type { KvCache } from '../../engine/ram_report';
import { formatBinary, formatBytes, formatCount } from '../../engine/units';
import { plural } from '../format';
import type { WeighedComponent } from './memory_panel';

const TOKENS_MAX = 16_777_216;

const KV_WORDS: Record<KvCache['lines'][number]['what'], string> = {
  full_attention: 'full attention',
  sliding_attention: 'sliding window',
  latent_attention: 'latent attention (MLA)',
};

interface ContextFieldProps {
  components: readonly WeighedComponent[];
  tokens: number | null;
  onChange: (tokens: number | null) => void;
}

export function ContextField({ components, tokens, onChange }: ContextFieldProps): ReactNode {
  const id = useId();
  const longest = Math.max(0, ...components.map(({ facts }) => facts.config.max_position_embeddings ?? 0));
  return (
    <div className="machine-field">
      <label htmlFor={id}>Context</label>
      <span className="machine-amount">
        <input
          id={id}
          type="number"
          inputMode="numeric"
          min="1"
          max={TOKENS_MAX}
          placeholder="none"
          data-testid="machine-context"
          value={tokens ?? ''}
          onChange={({ target }) => {
            const given = Math.floor(target.valueAsNumber);
            onChange(given >= 1 && given <= TOKENS_MAX ? given : null);
          }}
        />
        tokens
      </span>
      {longest > 0 && <span className="soft">up to {formatCount(longest)}</span>}
    </div>
  );
}

export function KvLines({ cache }: { cache: KvCache }): ReactNode {
  return (
    <div className="memory-help" data-testid="kv-cache" data-bytes={cache.bytes}>
      <h3>
        KV cache of {formatCount(cache.tokens)} tokens
        {cache.known && (
          <>
            : <span title={formatBytes(cache.bytes)}>{formatBinary(cache.bytes)}</span>
          </>
        )}
      </h3>
      <ul className="help-list">
        {cache.lines.map((line) => (
          <li key={line.what}>
            {plural(line.layers, 'layer')} of {KV_WORDS[line.what]}: {formatBinary(line.bytes)}{' '}
            <code className="formula">{line.formula}</code>
          </li>
        ))}
        {cache.missing !== undefined && <li className="soft">{cache.missing}</li>}
      </ul>
    </div>
  );
}
