# Adds up account statements again, from their CSV and separately from the frames of the ledger. Shares no code with the
# indexer. Amounts are integers in units of 10^-10. Usage: statement-books.pl FRAMES STATEMENTS. FRAMES has one update with
# its offset per line. STATEMENTS has one statement per line: its CSV file, the party, the offsets of its bounds, and whether
# each mint and burn has to be named. Prints differences, and what was compared.
use strict;
use warnings;
use JSON::PP;
use Math::BigInt;

my ($frames_file, $statements_file) = @ARGV;
my ($party, $from, $to, $strict);
my $unit = Math::BigInt->new('10000000000');
my @problems;
my %compared = (rows => 0, accounts => 0, priced => 0);

sub problem { push @problems, join(' ', @_) if @problems < 20 }

sub units {
    my ($text) = @_;
    my ($sign, $integer, $fraction) = $text =~ /^(-?)(\d+)(?:\.(\d{1,10}))?$/ or die "not an amount: $text";
    my $digits = $integer . substr(($fraction // '') . '0' x 10, 0, 10);
    return Math::BigInt->new("$sign$digits");
}

# Product of two amounts, rounded to units, halves to the even neighbor.
sub product {
    my ($one, $other) = @_;
    my $exact = $one * $other;
    my $size = $exact < 0 ? -$exact : $exact;
    my ($whole, $double) = ($size / $unit, ($size % $unit) * 2);
    $whole = $whole + 1 if $double > $unit || $double == $unit && $whole % 2 == 1;
    return $exact < 0 ? -$whole : $whole;
}

# --- The frames -------------------------------------------------------------------------------------------------------

sub entity { my ($id) = @_; return (split /:/, $id)[-1] }

sub holding_of {
    my ($event) = @_;
    my %views;
    for my $view (@{ $event->{interfaceViews} // [] }) {
        next unless $view->{interfaceId} =~ /:Splice\.Api\.Token\.HoldingV(\d):Holding$/ && $view->{viewValue};
        $views{$1} = $view->{viewValue};
    }
    if (my $view = $views{2} // $views{1}) {
        my $account = $view->{account} // { owner => $view->{owner} };
        return holding($account->{owner}, $account->{provider}, $account->{id}, $view->{instrumentId}{admin},
            $view->{instrumentId}{id}, $view->{amount}, $view->{lock});
    }
    my ($name, $payload) = (entity($event->{templateId}), $event->{createArgument});
    if ($name eq 'Amulet' || $name eq 'LockedAmulet') {
        my $amulet = $payload->{amulet} // $payload;
        return holding($amulet->{owner}, undef, '', $amulet->{dso}, 'Amulet', $amulet->{amount}{initialAmount}, $payload->{lock});
    }
    return holding($payload->{owner}, undef, '', $payload->{registrar}, 'EURX', $payload->{amount}, $payload->{lock})
        if $name eq 'Token';
    return holding($payload->{owner}, undef, '', $payload->{registrar}, $payload->{isin}, $payload->{amount}, $payload->{lock})
        if $name eq 'BondHolding';
    return holding(@{ $payload->{account} }{qw(owner provider id)}, @{ $payload->{instrumentId} }{qw(admin id)},
        $payload->{amount}, $payload->{lock})
        if $name eq 'Deposit';
    return undef;
}

sub holding {
    my ($owner, $provider, $account, $admin, $instrument, $amount, $lock) = @_;
    return {
        owner  => $owner // '',
        key    => join('|', $provider // '', $account // '', $admin, $instrument),
        token  => "$admin|$instrument",
        amount => units($amount),
        locked => $lock ? 1 : 0,
    };
}

my (%held, %configs, @rounds, %rounds_by_contract, %updates, $newest_time);

sub move {
    my ($update, $contract, $sign) = @_;
    my $holding = $held{$contract} or return;
    my $change = $update->{changes}{ $holding->{owner} }{ $holding->{key} } //=
        { in => Math::BigInt->new(0), out => Math::BigInt->new(0), locked => Math::BigInt->new(0), token => $holding->{token} };
    $change->{ $sign > 0 ? 'in' : 'out' } += $holding->{amount};
    $change->{locked} += $holding->{amount} * $sign if $holding->{locked};
}

sub created {
    my ($update, $event) = @_;
    my ($id, $name, $payload) = ($event->{contractId}, entity($event->{templateId}), $event->{createArgument});
    my $holding = holding_of($event);
    if ($holding) {
        $held{$id} = $holding;
        move($update, $id, 1);
        my $amulet = ref $payload eq 'HASH' ? $payload->{amulet} // $payload : {};
        push @{ $update->{rounds} }, $amulet->{amount}{createdAt}{number}
            if $name =~ /^(?:Locked)?Amulet$/ && ref $amulet->{amount} eq 'HASH';
    }
    if ($name eq 'OpenMiningRound') {
        my $round = { number => $payload->{round}{number}, price => $payload->{amuletPrice}, dso => $payload->{dso},
            opens => time_text($payload->{opensAt}), begun => $update->{offset} };
        push @rounds, $round;
        $rounds_by_contract{$id} = $round;
    }
    $configs{$id} = $payload if $name eq 'ExternalPartyConfigState';
}

sub time_text { my ($time) = @_; my ($main, $fraction) = $time =~ /^([^.Z]+)(?:\.(\d+))?Z$/; return "$main." . substr(($fraction // '') . '0' x 6, 0, 6) }

sub exercised {
    my ($update, $event) = @_;
    push @{ $update->{exercises} }, $event;
    return unless $event->{consuming};
    move($update, $event->{contractId}, -1);
    $rounds_by_contract{ $event->{contractId} }{ended} = $update->{offset} if $rounds_by_contract{ $event->{contractId} };
}

open(my $frames, '<', $frames_file) or die "$frames_file: $!";
while (my $line = <$frames>) {
    my $frame = decode_json($line);
    my ($kind) = keys %{ $frame->{update} };
    my $value = $frame->{update}{$kind}{value};
    my $update = { offset => $frame->{offset}, changes => {}, exercises => [], rounds => [] };
    for my $event (@{ $value->{events} // [] }) {
        created($update, $event->{CreatedEvent}) if $event->{CreatedEvent};
        exercised($update, $event->{ExercisedEvent}) if $event->{ExercisedEvent};
        if (my $assigned = $event->{JsAssignmentEvent}) { created($update, $assigned->{createdEvent} // $assigned->{value}{createdEvent}); $update->{moves} = 1 }
        if (my $unassigned = $event->{JsUnassignedEvent}) { move($update, $unassigned->{value}{contractId}, -1); $update->{moves} = 1 }
    }
    $newest_time = time_text($value->{effectiveAt}) if $kind eq 'Transaction';
    $update->{time} = $newest_time;
    $updates{ $frame->{offset} } = $update;
}

# --- Prices -----------------------------------------------------------------------------------------------------------

sub at { my ($value, @path) = @_; for my $field (@path) { $value = ref $value eq 'HASH' ? $value->{$field} : undef } return $value }

# An offset without an update has the time of the newest transaction before it.
sub time_at {
    my ($offset) = @_;
    while ($offset > 0 && !$updates{$offset}) { $offset-- }
    return at($updates{$offset}, 'time');
}

my %prices;

sub price_at {
    my ($offset, $dso) = @_;
    $prices{"$offset $dso"} //= [ find_price($offset, $dso) ];
    return @{ $prices{"$offset $dso"} };
}

sub find_price {
    my ($offset, $dso) = @_;
    my $update = $updates{$offset} // { exercises => [], rounds => [] };
    my @network = sort { $a->{nodeId} <=> $b->{nodeId} } grep { ($_->{packageName} // '') eq 'splice-amulet' } @{ $update->{exercises} };
    for my $exercise (@network) {
        my ($argument, $result) = @{$exercise}{qw(choiceArgument exerciseResult)};
        next unless (at($argument, 'expectedDso') // $dso) eq $dso;
        for my $path ([qw(summary)], [qw(result summary)], [qw(transferResult summary)], [qw(amuletSum)]) {
            my $price = at($result, @$path, 'amuletPrice');
            return ($price, 'choice') if defined $price;
        }
    }
    for my $exercise (sort { $a->{nodeId} <=> $b->{nodeId} } @{ $update->{exercises} }) {
        my $id = at($exercise->{choiceArgument}, qw(extraArgs context values external-party-config-state value))
            // at($exercise->{choiceArgument}, qw(context externalPartyConfigState));
        return ($configs{$id}{amuletPrice}, 'configuration') if defined $id && $configs{$id} && $configs{$id}{dso} eq $dso;
    }
    my $time = time_at($offset);
    return (undef, undef) unless defined $time;
    my @open = sort { $a->{opens} cmp $b->{opens} || $a->{number} <=> $b->{number} }
        grep { $_->{dso} eq $dso && $_->{begun} <= $offset && $_->{opens} le $time } @rounds;
    my @active = grep { !defined $_->{ended} || $_->{ended} > $offset } @open;
    my ($own) = sort { $b->{number} <=> $a->{number} }
        grep { my $number = $_->{number}; grep { $_ == $number } @{ $update->{rounds} } } @active;
    return ($own->{price}, 'holding') if $own;
    return @open && grep({ $_ == $open[-1] } @active) ? ($open[-1]{price}, 'open round') : (undef, undef);
}

# --- The statement ----------------------------------------------------------------------------------------------------

sub records {
    my ($text) = @_;
    my (@records, @fields);
    while ($text =~ /\G(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r\n)/gc) {
        my ($quoted, $plain, $end) = ($1, $2, $3);
        $quoted =~ s/""/"/g if defined $quoted;
        push @fields, $quoted // $plain;
        next if $end eq ',';
        push @records, [@fields];
        @fields = ();
    }
    die 'the CSV ends in a field' if (pos($text) // 0) < length $text;
    return @records;
}

# What happened to the instrument as a whole: without a payer or receiver, it was minted or burnt.
sub check_kind {
    my ($where, $row, $change, $update) = @_;
    my ($net, $given, $taken) = ($change->{in} - $change->{out}, 0, 0);
    for my $owner (keys %{ $update->{changes} }) {
        for my $other (values %{ $update->{changes}{$owner} }) {
            next unless $other->{token} eq $change->{token};
            my $moved = $other->{in} - $other->{out};
            $given++ if $moved < 0;
            $taken++ if $moved > 0;
        }
    }
    my @kinds =
          $update->{moves} ? qw(assigned unassigned)
        : $net == 0        ? qw(lock unlock merge split change)
        : $net < 0         ? ($taken ? qw(sent several) : qw(burn traffic fee))
        :                    ($given ? qw(received several) : qw(mint reward));
    push @kinds, qw(sent received) unless $strict;
    $compared{ $row->{kind} }++;
    problem("$party $where", "expected one of @kinds") unless grep { $_ eq $row->{kind} } @kinds;
}

sub check_value {
    my ($where, $row, $amount) = @_;
    my ($price, $source) = $row->{instrument_id} eq 'Amulet' ? price_at($row->{offset}, $row->{instrument_admin}) : ();
    my $expected = defined $price ? product($amount, units($price)) : undef;
    my $found = $row->{usd} eq '' ? undef : units($row->{usd});
    $compared{priced}++ if defined $found;
    $compared{"price by $source"}++ if defined $source;
    return if !defined $found && !defined $expected;
    return if defined $found && defined $expected && $found == $expected
        && units($row->{amulet_price}) == units($price) && $row->{price_source} eq $source;
    problem($where, "the value is $row->{usd} at $row->{amulet_price} ($row->{price_source}), expected", $price // 'none', $source // '');
}

sub check_statement {
    my ($csv_file) = @_;
    open(my $csv, '<:raw', $csv_file) or die "$csv_file: $!";
    my ($header, @lines) = records(do { local $/; <$csv> });
    my @rows = map { my $line = $_; +{ map { ($header->[$_] => $line->[$_]) } 0 .. $#$header } } @lines;

    my (%sums, %closed, %seen);
    for my $row (@rows) {
        my $key = join('|', @{$row}{qw(provider account_id instrument_admin instrument_id)});
        my $where = "row $row->{offset} $key $row->{kind}:";
        my ($net, $in, $out) = map { units($row->{$_}) } qw(net amount_in amount_out);
        my ($balance, $locked) = (units($row->{balance}), units($row->{locked}));
        $compared{rows}++;
        if ($row->{kind} eq 'opening') {
            $sums{$key} = $balance;
        } elsif ($row->{kind} eq 'closing') {
            $closed{$key} = [ $balance, $locked ];
            problem($where, 'closing is not opening and changes') unless ($sums{$key} // 0) == $balance;
        } else {
            problem($where, 'in - out is not net') unless $in - $out == $net;
            $sums{$key} = ($sums{$key} // Math::BigInt->new(0)) + $net;
            problem($where, 'the balance is not the sum') unless $sums{$key} == $balance;
            my $change = $updates{ $row->{offset} }{changes}{$party}{$key};
            problem($where, 'the statement has this change twice') if $seen{"$row->{offset} $key"}++;
            if (!$change) { problem($where, 'no such change in the frames') }
            else {
                problem($where, "the frames have in $change->{in} and out $change->{out}")
                    unless $change->{in} == $in && $change->{out} == $out;
                check_kind($where, $row, $change, $updates{ $row->{offset} });
            }
        }
        check_value($where, $row, $row->{kind} eq 'closing' ? $balance : $net);
    }

    # Balances from the frames alone.
    my %total;
    for my $offset (sort { $a <=> $b } keys %updates) {
        last if $offset > $to;
        my $changes = $updates{$offset}{changes}{$party} // {};
        for my $key (keys %$changes) {
            problem("frame $offset $key:", 'the statement has no row') if $offset > $from && !$seen{"$offset $key"};
            my $sum = $total{$key} //= { balance => Math::BigInt->new(0), locked => Math::BigInt->new(0) };
            $sum->{balance} += $changes->{$key}{in} - $changes->{$key}{out};
            $sum->{locked} += $changes->{$key}{locked};
        }
    }
    for my $key (keys %{ { %total, %closed } }) {
        my ($balance, $locked) = map { $_ // 0 } @{ $total{$key} // {} }{qw(balance locked)};
        my $closing = $closed{$key} // [ 0, 0 ];
        problem("account $key:", "the statement closes with $closing->[0] ($closing->[1] locked), the frames with $balance ($locked)")
            unless $closing->[0] == $balance && $closing->[1] == $locked;
        $compared{accounts}++;
    }
}

open(my $statements, '<', $statements_file) or die "$statements_file: $!";
while (my $line = <$statements>) {
    my $statement = decode_json($line);
    ($party, $from, $to, $strict) = @{$statement}{qw(party from to strict)};
    check_statement($statement->{csv});
}

print encode_json({ problems => \@problems, compared => \%compared }), "\n";
