import type { ReactNode } from 'react';
import { Button, Input, SearchField } from 'react-aria-components';

interface SearchBoxProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
}

export function SearchBox({ label, value, onChange }: SearchBoxProps): ReactNode {
  return (
    <SearchField aria-label={label} className="search" value={value} onChange={onChange}>
      <Input placeholder={label} spellCheck="false" />
      {value !== '' && <Button aria-label="Clear the search">×</Button>}
    </SearchField>
  );
}
