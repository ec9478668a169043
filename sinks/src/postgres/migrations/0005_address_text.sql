-- Addresses as people write them (SEP-23), for queries typed by hand: select address_text(account_id) from operations_accounts limit 10.
-- Takes the 33 bytes that tables hold: version byte and payload. Base 32 of these and of their CRC-16 (XModem), which stands low byte first.

CREATE FUNCTION address_text(address bytea) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS
$$
DECLARE
    alphabet CONSTANT text := 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
    body bytea := address;
    crc int := 0;
    held int := 0;
    held_bits int := 0;
    result text := '';
BEGIN
    IF length(address) <> 33 THEN
        RAISE EXCEPTION 'an address has 33 bytes, not %', length(address) USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- The type byte of a claimable balance id, always 0, is not stored.
    IF get_byte(address, 0) = 8 THEN
        body := substr(address, 1, 1) || '\x00'::bytea || substr(address, 2);
    END IF;
    FOR i IN 0 .. length(body) - 1 LOOP
        crc := crc # (get_byte(body, i) << 8);
        FOR bit IN 1 .. 8 LOOP
            crc := CASE WHEN crc & 32768 <> 0 THEN ((crc << 1) # 4129) & 65535 ELSE (crc << 1) & 65535 END;
        END LOOP;
    END LOOP;
    body := body || set_byte(set_byte('\x0000'::bytea, 0, crc & 255), 1, crc >> 8);
    FOR i IN 0 .. length(body) - 1 LOOP
        held := (held << 8) | get_byte(body, i);
        held_bits := held_bits + 8;
        WHILE held_bits >= 5 LOOP
            held_bits := held_bits - 5;
            result := result || substr(alphabet, (held >> held_bits) + 1, 1);
            held := held & ((1 << held_bits) - 1);
        END LOOP;
    END LOOP;
    IF held_bits > 0 THEN
        result := result || substr(alphabet, (held << (5 - held_bits)) + 1, 1);
    END IF;
    RETURN result;
END
$$;
